-- Those of these tasks that other nodes wait for.
-- @array
SELECT DISTINCT a.task
FROM unnest ($1::bigint[]) AS p (task)
JOIN awaited a ON a.task = p.task
WHERE a.node <> $2::text
