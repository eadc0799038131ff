-- The lanes of a type in a namespace. Index lane_folded.
SELECT id, namespace, type, resources
FROM lane INDEXED BY lane_folded -- otherwise all lanes of the namespace are read
WHERE namespace = ?1 AND type = ?2 COLLATE NOCASE
