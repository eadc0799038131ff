-- Ended tasks to purge, oldest first, after the id $1. Reads the primary key. A task can't end
-- before it is created, so the scan stops at the id of that time ($2).
SELECT id FROM ended
WHERE id > $1 AND id < $2 AND completed_us < $3 AND ($4::bigint >> status) & 1 <> 0
  AND ($5::bigint = 0 OR deleted_us IS NOT NULL)
  AND (($6::text IS NULL AND $7::text IS NULL)
       OR EXISTS (SELECT 1 FROM lane l
                  WHERE l.id = ended.lane AND ($6::text IS NULL OR l.namespace = $6)
                    AND ($7::text IS NULL
                         OR lower(l.type COLLATE "C") = lower($7::text COLLATE "C"))))
ORDER BY id
LIMIT $8
FOR UPDATE SKIP LOCKED
