-- The operations that run, oldest first, ?1 at most. Index operation_running.
SELECT id FROM operation WHERE status = 0 ORDER BY id LIMIT ?1
