-- Delayed, blocked and background tasks, newest first, before the id ?1 and after ?2. The primary
-- key.
SELECT id, lane FROM parked
WHERE id < ?1 AND id > ?2
ORDER BY id DESC
LIMIT ?3
