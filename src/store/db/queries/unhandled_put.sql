-- No live worker handles the ready tasks of a lane. Primary key.
-- @changes
INSERT INTO unhandled (lane, since_us) VALUES (?1, ?2) ON CONFLICT (lane) DO NOTHING
