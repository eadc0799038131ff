-- The newest event that changed a task. Reads the primary key backwards.
SELECT what, worker
FROM event
WHERE task = ?1 AND what <> 'late_result'
ORDER BY at_us DESC
LIMIT 1
