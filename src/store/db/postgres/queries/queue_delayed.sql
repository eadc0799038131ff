-- The tasks of a type that are not due yet, the next one first, among the $3 parked tasks that are
-- due next. Index parked_at, primary key of lane.
SELECT p.id
FROM (SELECT s.id, s.lane, s.status, s.at_us FROM parked s WHERE s.at_us IS NOT NULL
      ORDER BY s.at_us LIMIT $3) p
JOIN lane l ON l.id = p.lane
WHERE p.status = 0 AND l.namespace = $1 AND lower(l.type COLLATE "C") = lower($2::text COLLATE "C")
ORDER BY p.at_us, p.id
