-- Takes a permit.
-- @repeat
INSERT INTO hold (resource, task) VALUES (?1, ?2)
