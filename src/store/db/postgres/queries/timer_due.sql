-- Due timers, earliest first, locked, except those of tasks set aside until after $3. Primary keys.
SELECT task, at_us, kind FROM timer
WHERE at_us <= $1
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'task' AND s.key = timer.task::text AND s.until_us > $3)
ORDER BY at_us
LIMIT $2
FOR UPDATE OF timer SKIP LOCKED
