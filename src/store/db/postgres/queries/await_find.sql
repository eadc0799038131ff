-- Which of these tasks other nodes wait for.
SELECT DISTINCT a.task
FROM unnest ($1::bigint[]) AS p (task)
JOIN awaited a ON a.task = p.task
WHERE a.node <> $2::text
