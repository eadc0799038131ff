-- All tokens.
SELECT id, name, hash, scopes, namespaces, created_us, expires_us FROM token
