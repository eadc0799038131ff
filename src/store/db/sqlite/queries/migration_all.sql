-- The applied migrations.
SELECT id, description, executed_at FROM schema_migrations ORDER BY id
