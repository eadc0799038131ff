-- The schedules of a namespace, or of all, after a namespace and name, $4 at most. Primary key.
SELECT namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused, next_us,
       last_us, problem, created_us, updated_us, version
FROM cron
WHERE ($1::text IS NULL OR namespace = $1) AND (namespace, name) > ($2, $3)
ORDER BY namespace, name
LIMIT $4
