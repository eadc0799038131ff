-- The teams of a namespace, or of all.
SELECT id, namespace, name, spec, created_us, updated_us
FROM team
WHERE $1::text IS NULL OR namespace = $1
ORDER BY namespace, name
