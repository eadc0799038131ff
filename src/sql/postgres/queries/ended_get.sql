-- How ended tasks stand, by primary key.
SELECT p.n, s.status, s.version, s.fence, s.attempts, s.flags, s.progress, s.updated_us,
       s.claimed_us, s.started_us, s.completed_us, s.deleted_us, s.worker, s.state, s.error,
       s.metadata
FROM unnest($1::bigint[])
     WITH ORDINALITY AS p (id, n)
JOIN ended s ON s.id = p.id
