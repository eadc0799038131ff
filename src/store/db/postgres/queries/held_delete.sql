-- By primary key.
-- @changes
-- @many keys
DELETE FROM held WHERE id = ANY ($1::bigint[])
