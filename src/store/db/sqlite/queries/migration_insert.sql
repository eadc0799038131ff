-- Stores a migration, in its own transaction.
-- @repeat
INSERT INTO schema_migrations (id, description, executed_at) VALUES (?1, ?2, ?3)
