-- The counts of every lane, by namespace and type.
SELECT l.namespace, l.type, t.status, sum(t.n)::bigint,
       EXISTS (SELECT 1 FROM paused p WHERE p.namespace = l.namespace AND p.type = l.type)
FROM tally t
JOIN lane l ON l.id = t.lane
WHERE $1::text IS NULL OR l.namespace = $1
GROUP BY l.namespace, l.type, t.status
ORDER BY l.namespace, l.type, t.status
