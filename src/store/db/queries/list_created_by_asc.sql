-- Tasks of a submitter (created_by), oldest first, after the id ?1 and before ?2. Index
-- task_created_by.
SELECT id, lane FROM task
WHERE created_by = ?4 AND id > ?1 AND id < ?2
ORDER BY id ASC
LIMIT ?3
