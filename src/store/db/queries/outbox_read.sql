-- The next messages to publish, behind a position. Primary key.
SELECT seq, task, tail, namespace, type, status, attempt, priority, version, at_us
FROM outbox
WHERE seq > ?1
ORDER BY seq
LIMIT ?2
