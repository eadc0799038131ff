-- Deletes the origin of a task that is deleted. Primary key.
-- @changes
DELETE FROM origin WHERE task = ?1
