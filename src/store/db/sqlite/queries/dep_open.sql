-- The open dependencies of a blocked task: tasks that it needs or (flags & 2048) its subtasks,
-- unless they have ended. Primary keys, and index task_parent.
SELECT d.needs
FROM parked p
JOIN task_dep d ON d.task = p.id
WHERE p.id = ?1 AND p.status = 3 AND p.flags & 2048 = 0
  AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = d.needs)
UNION ALL
SELECT c.id
FROM parked p
JOIN task c ON c.parent = p.id
WHERE p.id = ?1 AND p.status = 3 AND p.flags & 2048 <> 0
  AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = c.id)
