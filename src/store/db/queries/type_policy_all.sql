-- The policies of all types, for the cache.
SELECT namespace, folded, type, max_attempts, retry_base_ms, retry_factor, retry_max_ms, timeout_ms,
       start_by_ms, priority, resources, unhandled_ms, input_schema, updated_us, version
FROM type_policy
