-- Stores the events of a transaction. Appends.
-- @repeat
INSERT INTO log (at_us, events) VALUES (?1, ?2)
