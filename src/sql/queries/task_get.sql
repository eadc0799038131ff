-- What was asked for, by primary key. The team is null once it is gone.
SELECT id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata, spec, key,
       input_hash, parent, child, depth, (SELECT team.id FROM team WHERE team.id = task.team),
       created_by, retry_base_ms, retry_factor, retry_max_ms
FROM task
WHERE id = ?1
