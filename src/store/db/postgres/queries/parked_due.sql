-- Due parked tasks, earliest first, locked, except those set aside until after $3. Index parked_at,
-- and the primary key of set_aside.
SELECT id FROM parked
WHERE at_us <= $1
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'task' AND s.key = parked.id::text AND s.until_us > $3)
ORDER BY at_us
LIMIT $2
FOR UPDATE OF parked SKIP LOCKED
