-- Subtasks and the names that distinguish them from their siblings, including deleted ones. Index
-- task_parent.
SELECT id, child FROM task WHERE parent = ?1
