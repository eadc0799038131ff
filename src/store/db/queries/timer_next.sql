-- When the next timer is due, except those of tasks set aside until after ?1. The first entries of
-- the primary key.
SELECT at_us FROM timer
WHERE NOT EXISTS (SELECT 1 FROM set_aside s
                  WHERE s.kind = 'task' AND s.key = CAST(timer.task AS TEXT) AND s.until_us > ?1)
ORDER BY at_us
LIMIT 1
