-- Paused types that have no lanes, by name.
SELECT p.namespace, p.type
FROM paused p
WHERE ($1::text IS NULL OR p.namespace = $1)
  AND ($3::text IS NULL OR lower(p.type COLLATE "C") = lower($3::text COLLATE "C"))
  AND NOT EXISTS (SELECT 1 FROM lane l WHERE l.namespace = p.namespace
                    AND lower(l.type COLLATE "C") = lower(p.type COLLATE "C"))
ORDER BY 1, 2
LIMIT $2::bigint
