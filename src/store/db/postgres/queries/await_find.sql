-- Those of these tasks that other nodes wait for; all of them if that is set (notify_ends).
-- @array
SELECT DISTINCT a.task
FROM unnest ($1::bigint[]) AS p (task)
JOIN awaited a ON a.task = p.task
WHERE a.node <> $2::text
UNION
SELECT p.task
FROM unnest ($1::bigint[]) AS p (task)
WHERE EXISTS (SELECT 1 FROM setting s WHERE s.name = 'notify' AND s.value = 'all')
