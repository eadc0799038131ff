-- Lanes without tasks among those with these ids. Deleted tasks, which `tally` doesn't count, are
-- found by index ended_deleted.
SELECT l.id FROM lane l
WHERE l.id > ?1 AND l.id <= ?2
  AND NOT EXISTS (SELECT 1 FROM tally t WHERE t.lane = l.id AND t.n <> 0)
  AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id)
  AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.lane = l.id AND e.deleted_us IS NOT NULL)
