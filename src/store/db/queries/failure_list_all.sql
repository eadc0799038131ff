-- The same of all namespaces. Reads the whole table.
SELECT id, namespace, type, kind, message, count, first_us, last_us, tasks
FROM failure_group
WHERE last_us >= ?1
ORDER BY last_us DESC
LIMIT ?2
