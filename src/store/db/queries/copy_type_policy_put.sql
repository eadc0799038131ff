-- Stores the policies of a type, for a copy.
-- @repeat
-- @changes
INSERT INTO type_policy (
       namespace, folded, type, max_attempts, retry_base_ms, retry_factor, retry_max_ms, timeout_ms,
       start_by_ms, priority, resources, unhandled_ms, input_schema, updated_us, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
