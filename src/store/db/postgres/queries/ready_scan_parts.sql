-- As ready_scan, for lanes with many dead rows: each lane comes with the parts of its index to
-- read, three numbers each (after this rank, and this id in it; before this rank). Dead rows
-- between the parts are not read. Stops, and stops locking, at the limit.
-- @many rows
SELECT p.n, r.id, t.tail, t.lane, r.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       r.version, r.fence, r.attempts, r.flags, r.progress, r.state, r.updated_us, r.claimed_us,
       r.started_us, r.error, r.metadata, r.run_at_us, r.turn, NULL::bigint
FROM (SELECT u.lane, u.parts::bigint[] AS parts, u.most, u.n
      FROM unnest($1::bigint[], $2::text[], $3::bigint[])
           WITH ORDINALITY AS u (lane, parts, most, n)
      OFFSET 0) p
CROSS JOIN LATERAL (
    SELECT q.*
    FROM generate_series(0, cardinality(p.parts) / 3 - 1) AS g
    CROSS JOIN LATERAL (
        SELECT * FROM ready
        WHERE ready.lane = p.lane
          AND (ready.rank, ready.id) > (p.parts[3 * g + 1], p.parts[3 * g + 2])
          AND ready.rank < p.parts[3 * g + 3]
        ORDER BY ready.rank, ready.id
        FOR UPDATE SKIP LOCKED) q
    LIMIT p.most) r
LEFT JOIN task t ON t.id = r.id
ORDER BY p.n, r.rank, r.id
