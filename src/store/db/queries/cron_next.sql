-- When the next schedule is due, except those set aside until after ?1. The first entries of index
-- cron_next, and the primary key of set_aside.
SELECT next_us FROM cron
WHERE next_us IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'schedule' AND s.key = cron.namespace || '/' || cron.name
                        AND s.until_us > ?1)
ORDER BY next_us
LIMIT 1
