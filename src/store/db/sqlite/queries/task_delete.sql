-- Removes a task for good, by primary key.
DELETE FROM task WHERE id = ?1
