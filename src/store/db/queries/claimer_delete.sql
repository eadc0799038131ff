-- A worker has signed off. Primary key.
-- @changes
DELETE FROM claimer WHERE worker = ?1
