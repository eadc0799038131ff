-- Schedules whose time has come, earliest first. Index cron_next.
SELECT namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused, next_us,
       last_us, problem, created_us, updated_us, version
FROM cron
WHERE next_us <= ?1
ORDER BY next_us
LIMIT ?2
