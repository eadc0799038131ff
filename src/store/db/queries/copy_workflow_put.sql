-- Stores a workflow unchanged. Primary key.
-- @repeat
-- @changes
INSERT INTO workflow (namespace, name, version, definition, enabled, updated_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
