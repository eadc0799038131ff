-- The rows of ready tasks, by primary key.
-- @many rows
-- @lock mark
SELECT p.n, s.version, s.fence, s.attempts, s.flags, s.progress, s.state, s.updated_us,
       s.claimed_us, s.started_us, s.error, s.metadata, s.run_at_us, s.turn, s.id,
       NULL::text
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
     WITH ORDINALITY AS p (lane, rank, id, n)
CROSS JOIN LATERAL (SELECT * FROM ready r
                    WHERE r.lane = p.lane AND r.rank = p.rank AND r.id = p.id OFFSET 0 /* lock */) s
