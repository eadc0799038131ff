-- The next parked tasks, by primary key.
SELECT id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad, progress,
       updated_us, claimed_us, started_us, state, error, metadata
FROM parked
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
