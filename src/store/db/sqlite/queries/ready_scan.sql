-- The best ready tasks of one lane after a position, with payload if ?5 is not 0. Reads the primary
-- key of `ready` from there, or from the run that contains the position, and no more than ?4 tasks,
-- however many are ready. json_each returns the tasks of a run in their order. The plus keeps
-- SQLite from using the last condition as the start of the scan.
SELECT t.id, t.tail, t.lane, r.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       r.version, r.fence, r.attempts, r.flags, r.progress, r.state, r.updated_us, r.claimed_us,
       r.started_us, r.error, r.metadata, r.run_at_us, r.turn, r.run IS NOT NULL,
       CASE WHEN ?5 THEN t.input END, CASE WHEN ?5 THEN t.metadata END, CASE WHEN ?5 THEN t.spec END
FROM ready r
LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n
CROSS JOIN task t ON t.id = r.id + coalesce(n.value, 0)
WHERE r.lane = ?1
  AND (r.rank, r.id) >= (?2, coalesce((SELECT max(p.id) FROM ready p
                                       WHERE p.lane = ?1 AND p.rank = ?2 AND p.id <= ?3), ?3))
  AND (+r.rank, r.id + coalesce(n.value, 0)) > (?2, ?3)
ORDER BY r.rank, r.id
LIMIT ?4
