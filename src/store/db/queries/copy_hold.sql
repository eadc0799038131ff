-- The next resource permits, by primary key.
SELECT resource, task
FROM hold
WHERE (resource, task) > (CAST(?1 AS bigint), CAST(?2 AS bigint))
ORDER BY resource, task
LIMIT ?3
