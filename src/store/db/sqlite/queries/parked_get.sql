-- The row of a parked task, by primary key.
SELECT status, at_us, version, fence, attempts, flags, deps_left, deps_bad, progress, updated_us,
       claimed_us, started_us, state, error, metadata
FROM parked
WHERE id = ?1
