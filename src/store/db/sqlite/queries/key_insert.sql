-- Takes a key. Primary key.
-- @repeat
INSERT INTO task_key (hash, task) VALUES (?1, ?2)
