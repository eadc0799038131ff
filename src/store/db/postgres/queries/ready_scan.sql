-- The best ready tasks of lanes after a position in each, with payload where `whole` is not 0,
-- locked. Tasks that another node takes are skipped. Reads the primary key of `ready` from there
-- and no more than the limit, however many are ready. A row without a task (damaged) has a null
-- `tail`.
-- @many rows
SELECT p.n, r.id, t.tail, t.lane, r.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       r.version, r.fence, r.attempts, r.flags, r.progress, r.state, r.updated_us, r.claimed_us,
       r.started_us, r.error, r.metadata, r.run_at_us, r.turn, NULL::bigint,
       CASE WHEN p.whole <> 0 THEN t.input END, CASE WHEN p.whole <> 0 THEN t.metadata END,
       CASE WHEN p.whole <> 0 THEN t.spec END
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
     WITH ORDINALITY AS p (lane, rank, id, most, whole, n)
CROSS JOIN LATERAL (
    SELECT * FROM ready
    WHERE ready.lane = p.lane AND (ready.rank, ready.id) > (p.rank, p.id)
    ORDER BY ready.rank, ready.id
    LIMIT p.most
    FOR UPDATE SKIP LOCKED) r
LEFT JOIN task t ON t.id = r.id
ORDER BY p.n, r.rank, r.id
