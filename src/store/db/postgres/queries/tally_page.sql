-- Types by name, in all spellings together, after one in a namespace: those that have lanes or are
-- paused, and their counts by status. $4 is the only namespace, or null. Index lane_folded.
-- Counts out of range are damaged and left out.
WITH page (namespace, kind, type) AS (
    SELECT namespace, kind, min(type) FROM (
        (SELECT namespace, lower(type COLLATE "C") AS kind, min(type) AS type FROM lane
         WHERE (namespace, lower(type COLLATE "C")) > ($2::text, lower($3::text COLLATE "C"))
           AND ($4::text IS NULL OR namespace = $4)
         GROUP BY 1, 2 ORDER BY 1, 2 LIMIT $1::bigint)
        UNION ALL
        (SELECT namespace, lower(type COLLATE "C"), type FROM paused
         WHERE (namespace, lower(type COLLATE "C")) > ($2::text, lower($3::text COLLATE "C"))
           AND ($4::text IS NULL OR namespace = $4)
         ORDER BY 1, 2 LIMIT $1::bigint)) AS named
    GROUP BY 1, 2
    ORDER BY 1, 2
    LIMIT $1::bigint
)
SELECT g.namespace, g.type,
       EXISTS (SELECT 1 FROM paused p
               WHERE p.namespace = g.namespace AND lower(p.type COLLATE "C") = g.kind),
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
LEFT JOIN lane l ON l.namespace = g.namespace AND lower(l.type COLLATE "C") = g.kind
LEFT JOIN tally t ON t.lane = l.id
    AND t.n BETWEEN -1000000000000000 AND 1000000000000000
GROUP BY g.namespace, g.kind, g.type
ORDER BY g.namespace, g.kind
