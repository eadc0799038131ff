-- The first ?2 tasks that a task depends on. Primary key.
SELECT needs FROM task_dep WHERE task = ?1 ORDER BY needs LIMIT ?2
