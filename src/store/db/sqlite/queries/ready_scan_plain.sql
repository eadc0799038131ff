-- As ready_scan, with only the columns of plain tasks. `version` is null for these. A row with a
-- version was changed or has more columns, and the lane is then read with ready_scan.
SELECT t.id, t.tail, r.rank, t.created_us, t.max_attempts, t.input, t.name, t.key, r.version,
       r.run IS NOT NULL
FROM ready r
LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n
CROSS JOIN task t ON t.id = r.id + coalesce(n.value, 0)
WHERE r.lane = ?1
  AND (r.rank, r.id) >= (?2, coalesce((SELECT max(p.id) FROM ready p
                                       WHERE p.lane = ?1 AND p.rank = ?2 AND p.id <= ?3), ?3))
  AND (+r.rank, r.id + coalesce(n.value, 0)) > (?2, ?3)
ORDER BY r.rank, r.id
LIMIT ?4
