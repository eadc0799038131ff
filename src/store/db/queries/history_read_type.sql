-- The history of a type in all namespaces, from one `seq` to before another. Index history_type:
-- all rows of the type.
SELECT seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled, retried,
       waits, runs, waiting, running, oldest_ms
FROM history
WHERE type = ?1 AND seq >= ?2 AND seq < ?3
ORDER BY seq
LIMIT ?4
