-- Whether a worker holds a task of a lane, with a lease that is valid at ?2. Reads all of held,
-- which has only tasks that workers hold.
SELECT 1 FROM held
WHERE lane = ?1 AND worker IS NOT NULL AND (lease_us IS NULL OR lease_us > ?2)
LIMIT 1
