-- Deletes rows of the log older than ?1, up to ?2. Reads the primary key from its beginning, and a
-- single row when that one is to stay. The newest row always stays (J3).
DELETE FROM log
WHERE seq IN (SELECT seq
              FROM (SELECT seq, at_us FROM log ORDER BY seq
                    LIMIT CASE WHEN (SELECT at_us FROM log ORDER BY seq LIMIT 1) < ?1 THEN ?2
                               ELSE 0 END)
              WHERE at_us < ?1 AND seq < (SELECT max(seq) FROM log))
RETURNING 0, seq
