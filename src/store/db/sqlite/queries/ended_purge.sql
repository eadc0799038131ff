-- Ended tasks to purge, oldest first, after the id ?1. Reads the primary key. A task can't end
-- before it is created, so the scan stops at the id of that time (?2).
SELECT id FROM ended
WHERE id > ?1 AND id < ?2 AND completed_us < ?3 AND (?4 >> status) & 1
  AND (NOT ?5 OR deleted_us IS NOT NULL)
  AND ((?6 IS NULL AND ?7 IS NULL)
       OR EXISTS (SELECT 1 FROM lane l WHERE l.id = ended.lane
                  AND (?6 IS NULL OR l.namespace = ?6)
                  AND (?7 IS NULL OR l.type = ?7 COLLATE NOCASE)))
ORDER BY id
LIMIT ?8
