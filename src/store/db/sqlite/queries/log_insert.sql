-- Notes all that a transaction did. Appends.
INSERT INTO log (at_us, events) VALUES (?1, ?2)
