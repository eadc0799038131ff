-- Tasks of a submitter (created_by), newest first. Index task_created_by.
SELECT id FROM task
WHERE created_by = ?6 AND id < ?1 AND id >= ?2
  AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
  AND (?7 = 0 OR created_us < ?7)
ORDER BY id DESC
LIMIT ?4
