-- Deletes the events of a task.
DELETE FROM event WHERE task = ?1
