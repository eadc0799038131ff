-- Deletes the state of a join for a key. Primary key.
-- @changes
DELETE FROM join_state WHERE namespace = ?1 AND workflow = ?2 AND name = ?3 AND key = ?4
