-- Subtasks of some tasks that have not ended, or that ended badly and may get another go. Index
-- task_parent, then a look at `ended` for each.
SELECT 1, c.id
FROM unnest($1::bigint[]) AS p (id)
CROSS JOIN LATERAL (SELECT t.id FROM task t WHERE t.parent = p.id OFFSET 0) c
WHERE NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = c.id AND e.status = 5)
