-- The oldest task in line of each namespace and type. Skips from one lane and rank to the next in
-- the primary key of ready.
WITH RECURSIVE head (lane, rank) AS (
    SELECT (SELECT min(lane) FROM ready),
           (SELECT min(rank) FROM ready WHERE lane = (SELECT min(lane) FROM ready))
    UNION ALL
    SELECT CASE WHEN EXISTS (SELECT 1 FROM ready WHERE lane = h.lane AND rank > h.rank) THEN h.lane
                ELSE (SELECT min(lane) FROM ready WHERE lane > h.lane) END,
           CASE WHEN EXISTS (SELECT 1 FROM ready WHERE lane = h.lane AND rank > h.rank)
                THEN (SELECT min(rank) FROM ready WHERE lane = h.lane AND rank > h.rank)
                ELSE (SELECT min(rank) FROM ready
                      WHERE lane = (SELECT min(lane) FROM ready WHERE lane > h.lane)) END
    FROM head h
    WHERE h.lane IS NOT NULL
)
SELECT l.namespace, l.type, min((SELECT min(id) FROM ready WHERE lane = h.lane AND rank = h.rank))
FROM head h
JOIN lane l ON l.id = h.lane
WHERE ?1 IS NULL OR l.namespace = ?1
GROUP BY l.namespace, l.type
