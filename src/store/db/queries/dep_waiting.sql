-- The tasks that depend on a task. Index task_dep_needs.
SELECT task FROM task_dep WHERE needs = ?1
