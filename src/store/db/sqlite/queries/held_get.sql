-- The row of a held task, by primary key.
SELECT tail, lane, rank, status, version, fence, attempts, flags, progress, updated_us, claimed_us,
       started_us, lease_us, worker, state, error, metadata,
       deadline_us
FROM held
WHERE id = ?1
