-- A resource, created if it is missing.
-- @changes
INSERT INTO resource (name, is_set)
SELECT $1::text, 0 WHERE NOT EXISTS (SELECT 1 FROM resource WHERE name = $1::text)
ON CONFLICT DO NOTHING
