-- Ready tasks of a lane after a position: key, rank and creation. Reads the primary key of ready
-- from there, or from the run that contains the position. json_each returns the tasks of a run in
-- their order.
SELECT r.id + coalesce(n.value, 0), r.rank, t.created_us
FROM ready r
LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n
CROSS JOIN task t ON t.id = r.id + coalesce(n.value, 0)
WHERE r.lane = ?1
  AND (r.rank, r.id) >= (?2, coalesce((SELECT max(p.id) FROM ready p
                                       WHERE p.lane = ?1 AND p.rank = ?2 AND p.id <= ?3), ?3))
  AND (+r.rank, r.id + coalesce(n.value, 0)) > (?2, ?3)
ORDER BY r.rank, r.id
LIMIT ?4
