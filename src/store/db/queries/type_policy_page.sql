-- The policies of types of a namespace, or of all, after a namespace and type, ?4 at most. Primary
-- key.
SELECT namespace, folded, type, max_attempts, retry_base_ms, retry_factor, retry_max_ms, timeout_ms,
       start_by_ms, priority, resources, unhandled_ms, input_schema, updated_us, version
FROM type_policy
WHERE (CAST(?1 AS text) IS NULL OR namespace = ?1) AND (namespace, folded) > (?2, ?3)
ORDER BY namespace, folded
LIMIT ?4
