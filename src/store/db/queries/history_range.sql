-- All rows of the history from one `seq` to before another, by type. Primary key.
SELECT seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled, retried,
       waits, runs, waiting, running, oldest_ms
FROM history
WHERE seq >= ?1 AND seq < ?2
ORDER BY namespace, type, seq
