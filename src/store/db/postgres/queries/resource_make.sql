-- A resource, created if there is none of the name in any spelling.
-- @changes
INSERT INTO resource (name, is_set)
SELECT $1::text, 0 WHERE NOT EXISTS
    (SELECT 1 FROM resource WHERE lower(name COLLATE "C") = lower($1::text COLLATE "C"))
ON CONFLICT DO NOTHING
