-- The oldest task in line of each namespace and type. Skips from one lane and rank to the next in
-- the index of ready.
WITH RECURSIVE head AS (
    (SELECT lane, rank, id FROM ready ORDER BY lane, rank, id LIMIT 1)
    UNION ALL
    SELECT n.lane, n.rank, n.id
    FROM head h, LATERAL (SELECT r.lane, r.rank, r.id FROM ready r
                          WHERE (r.lane, r.rank) > (h.lane, h.rank)
                          ORDER BY r.lane, r.rank, r.id LIMIT 1) n
)
SELECT l.namespace, l.type, min(h.id)
FROM head h
JOIN lane l ON l.id = h.lane
WHERE $1::text IS NULL OR l.namespace = $1
GROUP BY l.namespace, l.type
