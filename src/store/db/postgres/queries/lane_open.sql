-- Lanes that have ready tasks and are not paused, up to $3: of the types in the JSON array $1 and
-- the namespaces in $2; null: of all. Indexes lane_type and lane_name.
SELECT l.id, l.namespace, l.type, l.resources
FROM lane l
WHERE ($1::jsonb IS NULL OR lower(l.type COLLATE "C") IN
       (SELECT lower(t COLLATE "C") FROM jsonb_array_elements_text($1::jsonb) AS t))
  AND ($2::jsonb IS NULL OR l.namespace IN (SELECT jsonb_array_elements_text($2::jsonb)))
  AND EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id)
  AND NOT EXISTS (SELECT 1 FROM paused p WHERE p.namespace = l.namespace
                    AND lower(p.type COLLATE "C") = lower(l.type COLLATE "C"))
LIMIT $3::bigint
