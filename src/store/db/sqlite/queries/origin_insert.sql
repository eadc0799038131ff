-- Notes what made a task. Primary key.
INSERT INTO origin (task, workflow, trigger_name, version, event, depth)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
