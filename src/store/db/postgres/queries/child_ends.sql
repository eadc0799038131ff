-- As child_page, with only the columns about the end of subtasks: no input is read.
SELECT t.id, t.tail, t.lane, t.rank, t.name, e.status, e.deleted_us, e.error, e.output
FROM (SELECT c.id, c.tail, c.lane, c.rank, c.name FROM task c
      WHERE c.parent = $1 AND c.id > $2 ORDER BY c.id LIMIT $3) t
LEFT JOIN LATERAL (SELECT x.status, x.deleted_us, x.error, x.output FROM ended x
                   WHERE x.id = t.id OFFSET 0) e ON true
ORDER BY t.id
