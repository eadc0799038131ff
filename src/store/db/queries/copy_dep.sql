-- The next dependencies, by primary key.
SELECT task, needs
FROM task_dep
WHERE (task, needs) > (CAST(?1 AS bigint), CAST(?2 AS bigint))
ORDER BY task, needs
LIMIT ?3
