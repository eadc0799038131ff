-- Types by name, after one in a namespace: those that have lanes or are paused, and their counts by
-- status. $4 is the only namespace, or null. Index lane_name. Counts out of range are damaged and
-- left out.
WITH page (namespace, type) AS (
    (SELECT namespace, type FROM lane
     WHERE (namespace, type) > ($2::text, $3::text) AND ($4::text IS NULL OR namespace = $4)
     GROUP BY namespace, type ORDER BY namespace, type LIMIT $1::bigint)
    UNION
    (SELECT namespace, type FROM paused
     WHERE (namespace, type) > ($2::text, $3::text) AND ($4::text IS NULL OR namespace = $4)
     ORDER BY namespace, type LIMIT $1::bigint)
    ORDER BY 1, 2
    LIMIT $1::bigint
)
SELECT g.namespace, g.type,
       EXISTS (SELECT 1 FROM paused p WHERE p.namespace = g.namespace AND p.type = g.type),
       coalesce(sum(t.n) FILTER (WHERE t.status = 0), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 1), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 2), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 3), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 4), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 5), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 6), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 7), 0)::bigint,
       coalesce(sum(t.n) FILTER (WHERE t.status = 8), 0)::bigint
FROM page g
LEFT JOIN lane l ON l.namespace = g.namespace AND l.type = g.type
LEFT JOIN tally t ON t.lane = l.id
    AND t.n BETWEEN -1000000000000000 AND 1000000000000000
GROUP BY g.namespace, g.type
ORDER BY 1, 2
