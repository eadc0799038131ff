-- The next origins of tasks, by primary key.
SELECT task, workflow, trigger_name, version, event, depth
FROM origin
WHERE task > CAST(?1 AS bigint)
ORDER BY task
LIMIT ?2
