-- Stores a migration, in its own transaction, unless it has listed itself.
-- @changes
INSERT INTO schema_migrations (id, description, executed_at)
VALUES ($1, $2, $3::text::timestamptz)
ON CONFLICT (id) DO NOTHING
