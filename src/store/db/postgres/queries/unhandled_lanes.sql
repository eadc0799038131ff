-- The lanes of a type that have ready tasks. Indexes lane_folded and that of ready.
SELECT l.id FROM lane l
WHERE l.namespace = $1 AND lower(l.type COLLATE "C") = lower($2::text COLLATE "C")
  AND EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id)
