-- Deletes a lane that has no tasks.
DELETE FROM lane WHERE id = ?1
