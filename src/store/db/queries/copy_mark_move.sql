-- Stores the progress of the copy. No row: another process has changed it.
-- @changes
UPDATE schema_migrations SET description = ?2 WHERE id = ?1 AND description = ?3 RETURNING 1
