-- The copy is done: from now on the store may be opened. No row: somebody else has moved it.
DELETE FROM schema_migrations WHERE id = ?1 AND description = ?2 RETURNING 1
