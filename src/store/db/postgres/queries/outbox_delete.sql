-- By primary key.
-- @changes
-- @many keys
DELETE FROM outbox WHERE seq = ANY ($1::bigint[])
