-- A task's submit, without its payload, by primary key. The team is null once it is deleted.
SELECT id, tail, lane, rank, created_us, max_attempts, run_at_us, name, key, input_hash, parent,
       child, depth,
       CASE WHEN team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = task.team) END,
       created_by, retry_base_ms, retry_factor, retry_max_ms, key_scope,
       timeout_ms, start_by_us, fair_group
FROM task
WHERE id = ?1
