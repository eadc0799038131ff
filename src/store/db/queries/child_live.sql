-- Subtasks that have not ended. Index task_parent, then the primary key of `ended` for each.
SELECT id FROM task WHERE parent = ?1 AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = task.id)
