-- Groups of failures after an id, for a copy. Primary key.
SELECT id, namespace, type, kind, message, count, first_us, last_us, tasks
FROM failure_group
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
