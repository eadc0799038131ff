-- Deletes tasks, by primary key.
-- @changes
-- @many keys
DELETE FROM task WHERE id = ANY ($1::bigint[])
