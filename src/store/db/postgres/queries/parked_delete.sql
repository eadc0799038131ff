-- By primary key.
-- @changes
-- @many keys
DELETE FROM parked WHERE id = ANY ($1::bigint[])
