-- Ready tasks that were delayed, by the time at which they were due, lowest first, after a value
-- and id. Index ready_run_at.
SELECT id, lane, run_at_us FROM ready
WHERE run_at_us IS NOT NULL AND (run_at_us, id) > (?1, ?2)
ORDER BY run_at_us ASC, id ASC
LIMIT ?3
