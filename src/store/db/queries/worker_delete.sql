-- Deletes a worker; returns its id if it existed. Primary key.
-- @changes
DELETE FROM worker WHERE id = ?1 RETURNING id
