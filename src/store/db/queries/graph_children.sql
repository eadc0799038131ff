-- The first ?2 subtasks of a task. Index task_parent.
SELECT id FROM task WHERE parent = ?1 ORDER BY id LIMIT ?2
