-- All events of a task, oldest first. Prefix of the primary key.
SELECT at_us, what, status, actor, state, worker, detail FROM event WHERE task = ?1 ORDER BY at_us
