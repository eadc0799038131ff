-- Removes a token; gives its id when it was there. Primary key.
DELETE FROM token WHERE id = ?1 RETURNING id
