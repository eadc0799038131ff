-- The types with the most tasks that have not ended, and their counts by status. $3 is the only
-- type, or null. Counts out of range are damaged and left out.
SELECT c.namespace, c.type,
       EXISTS (SELECT 1 FROM paused p WHERE p.namespace = c.namespace
               AND lower(p.type COLLATE "C") = c.kind),
       c.n0, c.n1, c.n2, c.n3, c.n4, c.n5, c.n6, c.n7, c.n8
FROM (
    SELECT l.namespace, lower(l.type COLLATE "C") AS kind, min(l.type) AS type,
           coalesce(sum(t.n) FILTER (WHERE t.status = 0), 0)::bigint AS n0,
           coalesce(sum(t.n) FILTER (WHERE t.status = 1), 0)::bigint AS n1,
           coalesce(sum(t.n) FILTER (WHERE t.status = 2), 0)::bigint AS n2,
           coalesce(sum(t.n) FILTER (WHERE t.status = 3), 0)::bigint AS n3,
           coalesce(sum(t.n) FILTER (WHERE t.status = 4), 0)::bigint AS n4,
           coalesce(sum(t.n) FILTER (WHERE t.status = 5), 0)::bigint AS n5,
           coalesce(sum(t.n) FILTER (WHERE t.status = 6), 0)::bigint AS n6,
           coalesce(sum(t.n) FILTER (WHERE t.status = 7), 0)::bigint AS n7,
           coalesce(sum(t.n) FILTER (WHERE t.status = 8), 0)::bigint AS n8
    FROM lane l
    LEFT JOIN tally t ON t.lane = l.id
        AND t.n BETWEEN -1000000000000000 AND 1000000000000000
    WHERE ($1::text IS NULL OR l.namespace = $1)
      AND ($3::text IS NULL OR lower(l.type COLLATE "C") = lower($3::text COLLATE "C"))
    GROUP BY l.namespace, lower(l.type COLLATE "C")) c
ORDER BY c.n0 + c.n1 + c.n2 + c.n3 + c.n4 DESC, c.n5 + c.n6 + c.n7 + c.n8 DESC, 1, 2
LIMIT $2::bigint
