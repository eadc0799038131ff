-- Removes the oldest rows. Primary key.
-- @changes
DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox ORDER BY seq LIMIT ?1)
