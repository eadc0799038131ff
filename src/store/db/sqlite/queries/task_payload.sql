-- The payload of a task, which may be large. Primary keys.
SELECT t.input, t.metadata, t.spec, e.output
FROM task t
LEFT JOIN ended e ON e.id = t.id
WHERE t.id = ?1
