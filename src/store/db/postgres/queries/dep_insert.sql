-- Adds dependencies. Primary key.
-- @changes
-- @many rows
INSERT INTO task_dep (task, needs)
SELECT task, needs
FROM unnest($1::bigint[], $2::bigint[])
     AS p (task, needs)
ON CONFLICT DO NOTHING
