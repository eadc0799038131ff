-- As ready_scan, in the order of turns: of a lane whose tasks have groups, after a turn and id. The
-- last column is the oldest ready task of the lane and rank. Index ready_turn.
SELECT t.id, t.tail, t.lane, r.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       r.version, r.fence, r.attempts, r.flags, r.progress, r.state, r.updated_us, r.claimed_us,
       r.started_us, r.error, r.metadata, r.run_at_us, r.turn, r.run IS NOT NULL,
       CASE WHEN ?6 THEN t.input END, CASE WHEN ?6 THEN t.metadata END,
       CASE WHEN ?6 THEN t.spec END,
       (SELECT min(o.id) FROM ready o WHERE o.lane = ?1 AND o.rank = r.rank)
FROM ready r INDEXED BY ready_turn
CROSS JOIN task t ON t.id = r.id
WHERE r.lane = ?1 AND r.turn IS NOT NULL AND (r.rank, r.turn, r.id) > (?2, ?3, ?4)
ORDER BY r.rank, r.turn, r.id
LIMIT ?5
