-- Stores an emitted event unchanged, with its number. Primary key.
-- @repeat
INSERT INTO happened (seq, namespace, id, type, data, at_us, tasks, failures)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
