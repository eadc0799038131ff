-- Stores a token's hash and its scopes. Primary key.
-- @repeat
-- @changes
INSERT INTO token (id, name, hash, scopes, namespaces, created_us, expires_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
