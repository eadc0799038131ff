-- Notes how far the copy has come. No row: somebody else has moved it.
UPDATE schema_migrations SET description = ?2 WHERE id = ?1 AND description = ?3 RETURNING 1
