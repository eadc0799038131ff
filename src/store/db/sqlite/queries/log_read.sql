-- What was committed from a place in the log on. Primary key; ?1 is PostgreSQL's.
SELECT 0, seq, at_us, events FROM log WHERE seq >= ?2 AND ?1 = 0 ORDER BY seq LIMIT ?3
