-- Removes the groups without a failure since ?1. Reads the whole table.
-- @changes
DELETE FROM failure_group WHERE last_us < ?1
