-- Pauses a type.
-- @repeat
INSERT OR IGNORE INTO paused (namespace, type) VALUES (?1, ?2)
