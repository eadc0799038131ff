-- The events of a task before a time and name, newest first, ?4 at most. Reads the primary key
-- backwards.
SELECT at_us, what, status, actor, state, worker, detail
FROM event
WHERE task = ?1 AND (at_us, what) < (?2, ?3)
ORDER BY at_us DESC, what DESC
LIMIT ?4
