-- Definitions of a namespace ('*': of all), or the one called ?2 ('': all). Primary key.
SELECT namespace, name, version, enabled, updated_us, definition
FROM workflow
WHERE (namespace = ?1 OR ?1 = '*') AND (name = ?2 OR ?2 = '')
ORDER BY namespace, name
