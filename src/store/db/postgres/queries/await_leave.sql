-- Deletes the waits of a node.
-- @changes
DELETE FROM awaited WHERE node = $1::text
