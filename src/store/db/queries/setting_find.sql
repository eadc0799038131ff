-- A setting of the store. Primary key.
SELECT name, value FROM setting WHERE name = ?1
