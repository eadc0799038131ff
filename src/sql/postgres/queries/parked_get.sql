-- How parked tasks stand, by primary key.
SELECT p.n, s.status, s.at_us, s.version, s.fence, s.attempts, s.flags, s.deps_left, s.deps_bad,
       s.progress, s.updated_us, s.claimed_us, s.started_us, s.state, s.error, s.metadata
FROM unnest($1::bigint[])
     WITH ORDINALITY AS p (id, n)
JOIN parked s ON s.id = p.id
