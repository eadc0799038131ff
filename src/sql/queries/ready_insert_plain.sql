-- Puts a plain task that nobody has touched in line: every column but the key is null.
INSERT INTO ready (lane, rank, id) VALUES (?1, ?2, ?3)
