-- The migrations that this file has seen.
SELECT id, description, executed_at FROM schema_migrations ORDER BY id
