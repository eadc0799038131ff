-- How many ready tasks of a type have a rank below $3: up to $4 rows are read. Indexes lane_folded
-- and that of `ready`.
SELECT count(*)
FROM (SELECT 1
      FROM lane l
      CROSS JOIN LATERAL (SELECT r.id FROM ready r WHERE r.lane = l.id AND r.rank < $3
                          ORDER BY r.lane, r.rank, r.id) f
      WHERE l.namespace = $1 AND lower(l.type COLLATE "C") = lower($2::text COLLATE "C")
      LIMIT $4) u
