-- All that happened to tasks, oldest first. Begin of the primary key.
SELECT s.task AS key, s.at_us, s.what, s.status, s.actor, s.state, s.worker, s.detail
FROM event s
WHERE s.task = ANY ($1::bigint[])
ORDER BY s.task, s.at_us
