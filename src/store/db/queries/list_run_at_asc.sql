-- Tasks that were submitted with a time to run at, by it, lowest first, after a value and id.
-- Index task_run_at.
SELECT id, lane, run_at_us FROM task
WHERE run_at_us IS NOT NULL AND (run_at_us, id) > (?1, ?2)
ORDER BY run_at_us ASC, id ASC
LIMIT ?3
