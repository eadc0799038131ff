-- Stores the events of a transaction in one row, which needs no number. Appends.
-- @changes
INSERT INTO log (seq, at_us, events) VALUES (0, $1, $2)
