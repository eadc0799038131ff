-- How many subtasks a task has. Index task_parent.
SELECT count(*) FROM task WHERE parent = ?1
