-- Stores a workflow as it was. Primary key.
INSERT INTO workflow (namespace, name, version, definition, enabled, updated_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
