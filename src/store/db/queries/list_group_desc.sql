-- Tasks of a group, newest first, before the id ?1 and after ?2. Index
-- task_group.
SELECT id, lane FROM task
WHERE fair_group = ?4 AND id < ?1 AND id > ?2
ORDER BY id DESC
LIMIT ?3
