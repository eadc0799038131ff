-- All tokens, oldest first. Reads `token` whole: a small table.
SELECT id, name, hash, scopes, namespaces, created_us, expires_us FROM token ORDER BY id
