-- Stores an emitted event and its results. A second event with the same id fails: see emitted_get.
-- @repeat
INSERT INTO happened (namespace, id, type, data, at_us, tasks, failures)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
