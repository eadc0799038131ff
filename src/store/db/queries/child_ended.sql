-- Subtasks after the id ?2, ?3 at most, and whether each has ended. Index task_parent, then the
-- primary key of `ended` for each.
SELECT id, CASE WHEN EXISTS (SELECT 1 FROM ended e WHERE e.id = task.id) THEN 1 ELSE 0 END
FROM task
WHERE parent = ?1 AND id > ?2
ORDER BY id
LIMIT ?3
