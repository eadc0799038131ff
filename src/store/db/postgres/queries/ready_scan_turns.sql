-- As ready_scan, in the order of turns: of lanes whose tasks have groups, after a turn and id. The
-- last column is the oldest ready task of the lane and rank. Index ready_turn.
-- @many rows
SELECT p.n, r.id, t.tail, t.lane, r.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       r.version, r.fence, r.attempts, r.flags, r.progress, r.state, r.updated_us, r.claimed_us,
       r.started_us, r.error, r.metadata, r.run_at_us, r.turn, NULL::bigint,
       CASE WHEN p.whole <> 0 THEN t.input END, CASE WHEN p.whole <> 0 THEN t.metadata END,
       CASE WHEN p.whole <> 0 THEN t.spec END,
       (SELECT o.id FROM ready o WHERE o.lane = p.lane AND o.rank = r.rank
        ORDER BY o.lane, o.rank, o.id LIMIT 1)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
     WITH ORDINALITY AS p (lane, rank, turn, id, most, whole, n)
CROSS JOIN LATERAL (
    SELECT * FROM ready
    WHERE ready.lane = p.lane AND ready.turn IS NOT NULL
      AND (ready.rank, ready.turn, ready.id) > (p.rank, p.turn, p.id)
    ORDER BY ready.rank, ready.turn, ready.id
    LIMIT p.most
    FOR UPDATE SKIP LOCKED) r
LEFT JOIN task t ON t.id = r.id
ORDER BY p.n, r.rank, r.turn, r.id
