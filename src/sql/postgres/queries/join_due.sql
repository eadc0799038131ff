-- Joins that have waited long enough. Index join_deadline. Those that get a member just now are
-- looked at next time.
SELECT namespace, workflow, name, key FROM join_state
WHERE deadline_us <= $1
ORDER BY deadline_us
LIMIT $2
FOR UPDATE SKIP LOCKED
