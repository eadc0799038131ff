-- The history of a type in a namespace, from one `seq` to before another. Index history_type.
SELECT seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled, retried,
       waits, runs, waiting, running, oldest_ms
FROM history
WHERE type = ?1 AND namespace = ?2 AND seq >= ?3 AND seq < ?4
ORDER BY seq
LIMIT ?5
