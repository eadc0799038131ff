-- Pauses a type.
-- @changes
INSERT INTO paused (namespace, type) VALUES ($1, $2) ON CONFLICT DO NOTHING
