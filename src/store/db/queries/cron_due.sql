-- Due schedules, earliest first, except those set aside until after ?1. Index cron_next, and the
-- primary key of set_aside.
SELECT namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused, next_us,
       last_us, problem, created_us, updated_us, version
FROM cron
WHERE next_us <= ?1
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'schedule' AND s.key = cron.namespace || '/' || cron.name
                        AND s.until_us > ?1)
ORDER BY next_us
LIMIT ?2
