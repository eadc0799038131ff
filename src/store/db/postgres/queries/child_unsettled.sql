-- Subtasks of some tasks that have not ended, or that ended without completing and may be retried.
-- Index task_parent, then the primary key of `ended` for each.
-- @many rows
SELECT 1, c.id
FROM unnest($1::bigint[]) AS p (id)
CROSS JOIN LATERAL (SELECT t.id FROM task t WHERE t.parent = p.id OFFSET 0) c
WHERE NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = c.id AND e.status = 5)
