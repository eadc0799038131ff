-- Tokens after the id ?1, oldest first, ?2 at most. Primary key.
SELECT id, name, hash, scopes, namespaces, created_us, expires_us
FROM token
WHERE id > ?1
ORDER BY id
LIMIT ?2
