-- Tasks of a group, oldest first, after the id ?1 and before ?2. Index
-- task_group.
SELECT id, lane FROM task
WHERE fair_group = ?4 AND id > ?1 AND id < ?2
ORDER BY id ASC
LIMIT ?3
