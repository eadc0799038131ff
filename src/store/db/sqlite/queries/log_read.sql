-- Committed rows from a position in the log. Primary key; ?1 is used by PostgreSQL only.
SELECT 0, seq, at_us, events FROM log WHERE seq >= ?2 AND ?1 = 0 ORDER BY seq LIMIT ?3
