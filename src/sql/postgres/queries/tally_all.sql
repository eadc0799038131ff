-- The counts of every lane, by namespace and type, and a 0 for each paused type that has none.
SELECT l.namespace, l.type, t.status, sum(t.n)::bigint,
       EXISTS (SELECT 1 FROM paused p WHERE p.namespace = l.namespace AND p.type = l.type)
FROM tally t
JOIN lane l ON l.id = t.lane
WHERE $1::text IS NULL OR l.namespace = $1
GROUP BY l.namespace, l.type, t.status
UNION ALL
SELECT p.namespace, p.type, 0, 0, true
FROM paused p
WHERE ($1::text IS NULL OR p.namespace = $1)
  AND NOT EXISTS (SELECT 1 FROM lane l JOIN tally t ON t.lane = l.id
                  WHERE l.namespace = p.namespace AND l.type = p.type)
ORDER BY 1, 2, 3
