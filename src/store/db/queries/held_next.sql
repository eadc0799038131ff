-- When the next lease expires, except those of tasks set aside until after ?1. Reads all of `held`.
SELECT min(lease_us) FROM held
WHERE NOT EXISTS (SELECT 1 FROM set_aside s
                  WHERE s.kind = 'task' AND s.key = CAST(held.id AS TEXT) AND s.until_us > ?1)
