-- Stores an event. Primary key (task, time, what).
-- @repeat
INSERT OR REPLACE INTO event (task, at_us, what, status, actor, state, worker, detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
