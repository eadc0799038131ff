-- Stores the policies of a type. ?15 is the version that they must have, or 0. Returns the new
-- version, unless they have another one. Primary key; locks the row.
-- @changes
INSERT INTO type_policy (
       namespace, folded, type, max_attempts, retry_base_ms, retry_factor, retry_max_ms, timeout_ms,
       start_by_ms, priority, resources, unhandled_ms, input_schema, updated_us, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 1)
ON CONFLICT (namespace, folded) DO UPDATE SET
    type = excluded.type,
    max_attempts = excluded.max_attempts,
    retry_base_ms = excluded.retry_base_ms,
    retry_factor = excluded.retry_factor,
    retry_max_ms = excluded.retry_max_ms,
    timeout_ms = excluded.timeout_ms,
    start_by_ms = excluded.start_by_ms,
    priority = excluded.priority,
    resources = excluded.resources,
    unhandled_ms = excluded.unhandled_ms,
    input_schema = excluded.input_schema,
    updated_us = excluded.updated_us,
    version = type_policy.version + 1
WHERE CAST(?15 AS bigint) = 0 OR type_policy.version = ?15
RETURNING version
