-- Tokens after the id ?1 (null: all), oldest first, ?2 at most. There are few.
SELECT id, name, hash, scopes, namespaces, created_us, expires_us
FROM token
WHERE id > ?1 OR ?1 IS NULL
ORDER BY id
LIMIT ?2
