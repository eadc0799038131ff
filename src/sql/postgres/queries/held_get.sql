-- How held tasks stand, by primary key.
SELECT p.n, s.tail, s.lane, s.rank, s.status, s.version, s.fence, s.attempts, s.flags, s.progress,
       s.updated_us, s.claimed_us, s.started_us, s.lease_us, s.worker, s.state, s.error, s.metadata
FROM unnest($1::bigint[])
     WITH ORDINALITY AS p (id, n)
JOIN held s ON s.id = p.id
