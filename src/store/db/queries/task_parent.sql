-- Whose subtask a task is, by primary key.
SELECT parent FROM task WHERE id = ?1
