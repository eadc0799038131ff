-- The open dependencies of blocked tasks: tasks that they need or (flags & 2048) their subtasks,
-- unless these have ended. Primary keys, and index task_parent.
-- @many keys
SELECT p.id AS key, n.id
FROM parked p
CROSS JOIN LATERAL (
    (SELECT d.needs AS id FROM task_dep d WHERE d.task = p.id AND p.flags & 2048 = 0 OFFSET 0)
    UNION ALL
    (SELECT c.id FROM task c WHERE c.parent = p.id AND p.flags & 2048 <> 0 OFFSET 0)
) n
WHERE p.id = ANY ($1::bigint[]) AND p.status = 3
  AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = n.id)
