-- Keeps count.
INSERT INTO tally (lane, status, n) VALUES (?1, ?2, ?3)
ON CONFLICT (lane, status) DO UPDATE SET n = n + excluded.n
