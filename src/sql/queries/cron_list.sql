-- The schedules of a namespace, or of all.
SELECT namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused, next_us,
       last_us, problem, created_us, updated_us, version
FROM cron
WHERE ?1 IS NULL OR namespace = ?1
ORDER BY namespace, name
