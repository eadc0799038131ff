-- The row of the line that is the task's, if it is in line: at its place or before it, by primary
-- key. The last columns tell for whom the row stands (runs.h).
SELECT version, fence, attempts, flags, progress, state, updated_us, claimed_us, started_us, error,
       metadata, run_at_us, id, run
FROM ready
WHERE lane = ?1 AND rank = ?2 AND id <= ?3
ORDER BY id DESC
LIMIT 1
