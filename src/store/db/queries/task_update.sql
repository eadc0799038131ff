-- Changes what a submit has set: name, rank, attempts, time, time-out, group.
-- Primary key.
-- @changes
UPDATE task
SET name = ?2, rank = ?3, max_attempts = ?4, run_at_us = ?5, timeout_ms = ?6, start_by_us = ?7,
    lane = ?8, fair_group = ?9
WHERE id = ?1
