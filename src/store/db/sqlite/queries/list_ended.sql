-- Completed tasks newest first. Reads the primary key backwards.
SELECT id FROM ended
WHERE id < ?1 AND id >= ?2 AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
ORDER BY id DESC
LIMIT ?4
