-- Gives a task what its type's settings say: its lane (by resources), attempts and retries.
-- Primary key.
UPDATE task
SET lane = ?2, max_attempts = ?3, retry_base_ms = ?4, retry_factor = ?5, retry_max_ms = ?6
WHERE id = ?1
