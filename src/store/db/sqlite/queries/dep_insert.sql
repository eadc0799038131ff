-- Adds a dependency. A duplicate is ignored.
-- @repeat
INSERT OR IGNORE INTO task_dep (task, needs) VALUES (?1, ?2)
