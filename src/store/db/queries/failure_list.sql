-- The groups of a namespace with a failure since ?1, the last one first. Index failure_group_last.
SELECT id, namespace, type, kind, message, count, first_us, last_us, tasks
FROM failure_group
WHERE namespace = ?3 AND last_us >= ?1
ORDER BY last_us DESC
LIMIT ?2
