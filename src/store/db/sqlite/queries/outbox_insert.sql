-- Adds messages at the end.
-- @repeat
INSERT INTO outbox (task, tail, namespace, type, status, attempt, priority, version, at_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
