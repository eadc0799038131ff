-- Forgets what is older than ?1, up to ?2 rows. Walks the primary key from its beginning.
DELETE FROM log
WHERE seq IN (SELECT seq FROM (SELECT seq, at_us FROM log ORDER BY seq LIMIT ?2) WHERE at_us < ?1)
RETURNING 0, seq
