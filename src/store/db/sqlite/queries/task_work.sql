-- The type and input of a task that is not deleted. Primary keys.
SELECT l.type, t.input
FROM task t
JOIN lane l ON l.id = t.lane
LEFT JOIN ended e ON e.id = t.id
WHERE t.id = ?1 AND e.deleted_us IS NULL
