-- Stores a join unchanged. Primary key.
-- @repeat
-- @changes
INSERT INTO join_state (namespace, workflow, name, key, round, members, updated_us, deadline_us,
                        last_outcome, last_task, last_error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
