-- Ended tasks, newest first, before the id ?1 and after ?2. The primary key.
SELECT id, lane FROM ended
WHERE id < ?1 AND id > ?2
ORDER BY id DESC
LIMIT ?3
