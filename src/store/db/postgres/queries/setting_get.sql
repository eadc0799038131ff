-- A setting of the store.
SELECT value FROM setting WHERE name = $1::text
