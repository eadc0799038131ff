-- The first ready task of each lane of a type, and its rank; nulls for a lane without ready tasks.
-- Index lane_folded, primary key of `ready`.
SELECT (SELECT r.id FROM ready r WHERE r.lane = l.id ORDER BY r.rank, r.id LIMIT 1),
       (SELECT min(r.rank) FROM ready r WHERE r.lane = l.id)
FROM lane l INDEXED BY lane_folded
WHERE l.namespace = ?1 AND l.type = ?2 COLLATE NOCASE
