-- How far a copy into this store has come. No row: none was begun.
SELECT description FROM schema_migrations WHERE id = ?1
