-- As child_page, with only the columns about the end of subtasks: no input is read.
SELECT t.id, t.tail, t.lane, t.rank, t.name, e.status, e.deleted_us, e.error, e.output
FROM task t
LEFT JOIN ended e ON e.id = t.id
WHERE t.parent = ?1 AND t.id > ?2
ORDER BY t.id
LIMIT ?3
