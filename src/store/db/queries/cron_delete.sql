-- Removes a schedule, of version ?3 (0: of any); gives its name when it was there. Primary key.
DELETE FROM cron WHERE namespace = ?1 AND name = ?2 AND (version = ?3 OR ?3 = 0) RETURNING name
