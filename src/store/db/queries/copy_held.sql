-- The next held tasks, by primary key.
SELECT id, tail, lane, rank, status, version, fence, attempts, flags, progress, updated_us,
       claimed_us, started_us, lease_us, worker, state, error, metadata,
       deadline_us
FROM held
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
