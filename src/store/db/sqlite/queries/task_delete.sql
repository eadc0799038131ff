-- Deletes a task, by primary key.
DELETE FROM task WHERE id = ?1
