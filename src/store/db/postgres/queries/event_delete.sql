-- Deletes the events of tasks. Prefix of the primary key.
-- @changes
-- @many keys
DELETE FROM event WHERE task = ANY ($1::bigint[])
