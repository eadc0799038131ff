-- Changes a schedule that is unchanged since it was read: of the version before ?15, created at ?13
-- and last fired at ?11. Returns its version, else no row. Primary key.
-- @changes
UPDATE cron SET schedule = ?3, timezone = ?4, task = ?5, catch_up = ?6, overlap = ?7,
                jitter_ms = ?8, paused = ?9, next_us = ?10, problem = ?12, updated_us = ?14,
                version = ?15
WHERE namespace = ?1 AND name = ?2 AND version = ?15 - 1 AND created_us = ?13
    AND last_us IS NOT DISTINCT FROM ?11
RETURNING version
