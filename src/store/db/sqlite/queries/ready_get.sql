-- The row of `ready` that contains the task: at its position or before it, by primary key. The last
-- columns are the tasks of a run (runs.h).
SELECT version, fence, attempts, flags, progress, state, updated_us, claimed_us, started_us, error,
       metadata, run_at_us, turn, id, run
FROM ready
WHERE lane = ?1 AND rank = ?2 AND id <= ?3
ORDER BY id DESC
LIMIT 1
