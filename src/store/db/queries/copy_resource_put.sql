-- Stores a resource with the next number.
-- @repeat
-- @changes
INSERT INTO resource (name, max_concurrency, is_set) VALUES (?1, ?2, ?3)
