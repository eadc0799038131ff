-- By primary key.
-- @changes
-- @many keys
DELETE FROM ended WHERE id = ANY ($1::bigint[])
