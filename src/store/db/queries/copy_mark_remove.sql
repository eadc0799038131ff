-- Ends the copy: from now on the store can be opened. No row: another process has changed the mark.
-- @changes
DELETE FROM schema_migrations WHERE id = ?1 AND description = ?2 RETURNING 1
