-- The oldest ready task of a type. Skips from one rank of a lane to the next in the primary key of
-- `ready`.
WITH RECURSIVE head (lane, rank) AS (
    SELECT l.id, (SELECT min(rank) FROM ready WHERE lane = l.id)
    FROM lane l INDEXED BY lane_folded
    WHERE l.namespace = ?1 AND l.type = ?2 COLLATE NOCASE
    UNION ALL
    SELECT h.lane, (SELECT min(rank) FROM ready WHERE lane = h.lane AND rank > h.rank)
    FROM head h
    WHERE h.rank IS NOT NULL
)
SELECT min((SELECT min(id) FROM ready WHERE lane = h.lane AND rank = h.rank))
FROM head h
WHERE h.rank IS NOT NULL
