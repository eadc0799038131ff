-- Removes a schedule; gives its name when it was there. Primary key.
DELETE FROM cron WHERE namespace = ?1 AND name = ?2 RETURNING name
