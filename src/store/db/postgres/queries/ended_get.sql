-- The rows of ended tasks, by primary key.
-- @many keys
-- @lock s
SELECT s.id AS key, s.status, s.version, s.fence, s.attempts, s.flags, s.progress, s.updated_us,
       s.claimed_us, s.started_us, s.completed_us, s.deleted_us, s.worker, s.state, s.error,
       s.metadata
FROM ended s
WHERE s.id = ANY ($1::bigint[])
