-- The rows of parked tasks, by primary key.
-- @many keys
-- @lock s
SELECT s.id AS key, s.status, s.at_us, s.version, s.fence, s.attempts, s.flags, s.deps_left,
       s.deps_bad, s.progress, s.updated_us, s.claimed_us, s.started_us, s.state, s.error,
       s.metadata
FROM parked s
WHERE s.id = ANY ($1::bigint[])
