-- All schedules.
SELECT namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused, next_us,
       last_us, problem, created_us, updated_us, version
FROM cron
