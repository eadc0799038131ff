-- Tasks below some tasks that have not ended. Index task_parent, then the primary key of `ended`
-- for each. 2,000 at most (cancel_tree.h). UNION, so that a cycle of parents (damaged data)
-- ends.
-- @many rows
WITH RECURSIVE tree (id) AS (
    SELECT p.id FROM unnest($1::bigint[]) AS p (id)
    UNION
    SELECT c.id
    FROM tree
    CROSS JOIN LATERAL (SELECT t.id FROM task t WHERE t.parent = tree.id OFFSET 0) c
    WHERE NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = c.id)
)
SELECT 1, tree.id FROM tree LIMIT 2000
