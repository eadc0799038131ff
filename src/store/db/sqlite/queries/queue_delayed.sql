-- The tasks of a type that are not due yet, the next one first, among the ?3 parked tasks that are
-- due next. Index parked_at, primary key of lane.
SELECT p.id
FROM (SELECT id, lane, status, at_us FROM parked WHERE at_us IS NOT NULL
      ORDER BY at_us LIMIT ?3) p
CROSS JOIN lane l ON l.id = p.lane
WHERE p.status = 0 AND l.namespace = ?1 AND l.type = ?2 COLLATE NOCASE
ORDER BY p.at_us, p.id
