-- All events of tasks, oldest first. Prefix of the primary key.
-- @many keys
SELECT s.task AS key, s.at_us, s.what, s.status, s.actor, s.state, s.worker, s.detail
FROM event s
WHERE s.task = ANY ($1::bigint[])
ORDER BY s.task, s.at_us
