-- Tasks with an expired lease, locked, except those set aside until after $3. Reads all of `held`:
-- as many rows as held tasks.
SELECT id FROM held
WHERE lease_us <= $1
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'task' AND s.key = held.id::text AND s.until_us > $3)
ORDER BY lease_us
LIMIT $2
FOR UPDATE OF held SKIP LOCKED
