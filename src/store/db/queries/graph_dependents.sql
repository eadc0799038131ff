-- The first ?2 tasks that depend on a task. Index task_dep_needs.
SELECT task FROM task_dep WHERE needs = ?1 ORDER BY task LIMIT ?2
