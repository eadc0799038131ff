-- The progress of a copy into this store. No row: no copy was begun.
SELECT description FROM schema_migrations WHERE id = ?1
