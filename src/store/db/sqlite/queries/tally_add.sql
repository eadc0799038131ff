-- Adds to a count. A count out of range starts again at 0.
INSERT INTO tally (lane, status, n) VALUES (?1, ?2, ?3)
ON CONFLICT (lane, status) DO UPDATE
SET n = CASE WHEN n BETWEEN -1000000000000000 AND 1000000000000000 THEN n ELSE 0 END + excluded.n
