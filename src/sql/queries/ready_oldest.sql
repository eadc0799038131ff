-- The oldest task in line of each namespace and type. Skips from one lane and rank to the next in
-- the primary key of ready.
WITH RECURSIVE head (lane, rank, id) AS (
    SELECT lane, rank, id
    FROM (SELECT lane, rank, id FROM ready WHERE lane = (SELECT min(lane) FROM ready)
          ORDER BY rank, id LIMIT 1)
    UNION ALL
    SELECT r.lane, r.rank, r.id
    FROM head h, ready r
    WHERE (r.lane, r.rank, r.id) = (SELECT x.lane, x.rank, x.id FROM ready x
                                    WHERE (x.lane, x.rank) > (h.lane, h.rank)
                                    ORDER BY x.lane, x.rank, x.id LIMIT 1)
)
SELECT l.namespace, l.type, min(h.id)
FROM head h
JOIN lane l ON l.id = h.lane
WHERE ?1 IS NULL OR l.namespace = ?1
GROUP BY l.namespace, l.type
