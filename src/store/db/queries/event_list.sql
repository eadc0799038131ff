-- The events of a task, newest first. Reads the primary key backwards.
SELECT at_us, what, status, actor, state, worker, detail
FROM event
WHERE task = ?1
ORDER BY at_us DESC
LIMIT ?2
