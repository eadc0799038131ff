-- Stores a lane with the next number.
-- @repeat
-- @changes
INSERT INTO lane (namespace, type, resources) VALUES (?1, ?2, ?3)
