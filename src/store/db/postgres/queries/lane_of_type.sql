-- The lanes of a type in a namespace. Index lane_folded.
SELECT id, namespace, type, resources FROM lane
WHERE namespace = $1
  AND lower(type COLLATE "C") = lower($2::text COLLATE "C")
