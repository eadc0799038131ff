-- The submits of tasks, without their payloads, by primary key. The team is null once it is
-- deleted.
-- @many keys
SELECT s.id AS key, s.id, s.tail, s.lane, s.rank, s.created_us, s.max_attempts, s.run_at_us,
       s.name, s.key, s.input_hash, s.parent, s.child, s.depth,
       CASE WHEN s.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = s.team) END,
       s.created_by, s.retry_base_ms, s.retry_factor, s.retry_max_ms, s.key_scope,
       s.timeout_ms, s.start_by_us, s.fair_group
FROM task s
WHERE s.id = ANY ($1::bigint[])
