-- Lanes that have ready tasks, up to $1. Skips from lane to lane in the primary key.
WITH RECURSIVE next (lane) AS (
    SELECT min(lane) FROM ready
    UNION ALL
    SELECT (SELECT min(lane) FROM ready WHERE lane > next.lane) FROM next WHERE lane IS NOT NULL
)
SELECT l.id, l.namespace, l.type, l.resources
FROM (SELECT lane FROM next WHERE lane IS NOT NULL LIMIT $1::bigint) n
JOIN lane l ON l.id = n.lane
