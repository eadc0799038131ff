-- The row of an ended task, without its output, by primary key.
SELECT status, version, fence, attempts, flags, progress, updated_us, claimed_us, started_us,
       completed_us, deleted_us, worker, state, error, metadata
FROM ended
WHERE id = ?1
