-- What happened to a task, newest first. Walks the primary key backwards.
SELECT at_us, what, status, actor, state, worker, detail
FROM event
WHERE task = ?1
ORDER BY at_us DESC
LIMIT ?2
