-- The first ready task of each lane of a type, and its rank. Indexes lane_folded and that of
-- `ready`.
SELECT f.id, f.rank
FROM lane l
CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.id FROM ready r
                    WHERE r.lane = l.id
                    ORDER BY r.lane, r.rank, r.id LIMIT 1) f
WHERE l.namespace = $1 AND lower(l.type COLLATE "C") = lower($2::text COLLATE "C")
