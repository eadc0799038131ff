-- Deletes the joins of a workflow that is deleted. Prefix of the primary key.
-- @changes
DELETE FROM join_state WHERE namespace = ?1 AND workflow = ?2
