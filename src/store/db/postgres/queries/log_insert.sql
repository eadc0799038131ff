-- Notes all that a transaction did: one row, so that it needs no number. Appends.
INSERT INTO log (seq, at_us, events) VALUES (0, $1, $2)
