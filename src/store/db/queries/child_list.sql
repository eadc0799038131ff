-- Subtasks in the order of creation, after the id ?2. Index task_parent.
SELECT id FROM task WHERE parent = ?1 AND id > ?2 ORDER BY id LIMIT ?3
