-- How a task in line stands, by primary key.
SELECT version, fence, attempts, flags, progress, state, updated_us, claimed_us, started_us, error,
       metadata, run_at_us
FROM ready
WHERE lane = ?1 AND rank = ?2 AND id = ?3
