-- The next tasks, by primary key.
SELECT id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata, spec,
       key, input_hash, parent, child, depth, team, created_by, retry_base_ms, retry_factor,
       retry_max_ms, submitter, key_scope, timeout_ms, start_by_us, fair_group
FROM task
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
