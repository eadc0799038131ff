-- The rows of held tasks, by primary key.
-- @many keys
-- @lock s
SELECT s.id AS key, s.tail, s.lane, s.rank, s.status, s.version, s.fence, s.attempts, s.flags,
       s.progress, s.updated_us, s.claimed_us, s.started_us, s.lease_us, s.worker, s.state,
       s.error, s.metadata, s.deadline_us
FROM held s
WHERE s.id = ANY ($1::bigint[])
