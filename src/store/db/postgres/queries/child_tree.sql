-- Tasks that have not ended below some tasks. Index task_parent, then a look at `ended` for each.
-- UNION, so that tasks which are above each other (damaged) don't make it endless.
WITH RECURSIVE tree (id) AS (
    SELECT p.id FROM unnest($1::bigint[]) AS p (id)
    UNION
    SELECT c.id
    FROM tree
    CROSS JOIN LATERAL (SELECT t.id FROM task t WHERE t.parent = tree.id OFFSET 0) c
    WHERE NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = c.id)
)
SELECT 1, tree.id FROM tree
