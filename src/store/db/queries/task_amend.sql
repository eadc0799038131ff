-- Applies a type's settings to a task: its lane (by resources), attempts and retries. Primary key.
-- @changes
UPDATE task
SET lane = ?2, max_attempts = ?3, retry_base_ms = ?4, retry_factor = ?5, retry_max_ms = ?6
WHERE id = ?1
