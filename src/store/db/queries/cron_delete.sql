-- Deletes a schedule, of version ?3 (0: any). Returns its name if it existed. Primary key.
-- @changes
DELETE FROM cron WHERE namespace = ?1 AND name = ?2 AND (version = ?3 OR ?3 = 0) RETURNING name
