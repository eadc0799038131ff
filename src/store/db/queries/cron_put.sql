-- Stores a new schedule; returns its version, unless the name is taken.
-- @changes
INSERT INTO cron (namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused,
                  next_us, last_us, problem, created_us, updated_us, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (namespace, name) DO NOTHING
RETURNING version
