-- Forgets what made a task that is removed. Primary key.
DELETE FROM origin WHERE task = ?1
