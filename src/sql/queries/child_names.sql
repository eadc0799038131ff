-- Subtasks and what tells them from their siblings; deleted ones too. Index task_parent.
SELECT id, child FROM task WHERE parent = ?1
