-- When the next parked task is due, except those set aside until after ?1. The first entries of
-- index parked_at, and the primary key of set_aside.
SELECT at_us FROM parked
WHERE at_us IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'task' AND s.key = CAST(parked.id AS TEXT) AND s.until_us > ?1)
ORDER BY at_us
LIMIT 1
