-- Rows of the history after a `seq`, for a copy. Primary key.
SELECT seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled, retried,
       waits, runs, waiting, running, oldest_ms
FROM history
WHERE seq > CAST(?1 AS bigint)
ORDER BY seq
LIMIT ?2
