-- Deletes a token; returns its id if it existed. Primary key.
-- @changes
DELETE FROM token WHERE id = ?1 RETURNING id
