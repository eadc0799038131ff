-- Stores the origin of a task. Primary key.
-- @repeat
INSERT INTO origin (task, workflow, trigger_name, version, event, depth)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
