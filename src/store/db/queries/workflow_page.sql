-- Definitions of a namespace ('*': of all) after a namespace and name, ?4 at most. Primary key.
SELECT namespace, name, version, enabled, updated_us, definition
FROM workflow
WHERE (namespace = ?1 OR ?1 = '*') AND (namespace, name) > (?2, ?3)
ORDER BY namespace, name
LIMIT ?4
