-- The lanes of a type that have ready tasks. Index lane_folded, primary key of ready.
SELECT l.id FROM lane l INDEXED BY lane_folded
WHERE l.namespace = ?1 AND l.type = ?2 COLLATE NOCASE
  AND EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id)
