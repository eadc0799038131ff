-- Ended tasks, oldest first, after the id ?1 and before ?2. The primary key.
SELECT id, lane FROM ended
WHERE id > ?1 AND id < ?2
ORDER BY id ASC
LIMIT ?3
