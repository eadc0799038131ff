-- Tasks newest first, before the id ?1. Reads the primary key backwards.
SELECT id FROM task
WHERE id < ?1 AND id >= ?2 AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
  AND (?7 = 0 OR created_us < ?7)
ORDER BY id DESC
LIMIT ?4
