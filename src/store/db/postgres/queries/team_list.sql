-- The teams of a namespace, or of all, after a namespace and name, $4 at most. Unique index.
SELECT id, namespace, name, spec, created_us, updated_us
FROM team
WHERE ($1::text IS NULL OR namespace = $1) AND (namespace, name) > ($2, $3)
ORDER BY namespace, name
LIMIT $4
