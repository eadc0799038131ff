-- The next emitted events, by primary key.
SELECT seq, namespace, id, type, data, at_us, tasks, failures
FROM happened
WHERE seq > CAST(?1 AS bigint)
ORDER BY seq
LIMIT ?2
