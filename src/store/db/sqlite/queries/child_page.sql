-- Subtasks in the order of creation, after the id ?2, with payload. The columns of `ended` are null
-- for tasks that have not ended. Index task_parent, then primary keys.
SELECT t.id, t.tail, t.lane, t.rank, t.created_us, t.max_attempts, t.run_at_us, t.name, t.key,
       t.input_hash, t.parent, t.child, t.depth,
       CASE WHEN t.team IS NOT NULL THEN (SELECT m.id FROM team m WHERE m.id = t.team) END,
       t.created_by, t.retry_base_ms, t.retry_factor, t.retry_max_ms, t.key_scope,
       t.timeout_ms, t.start_by_us, t.fair_group,
       e.status, e.version, e.fence, e.attempts, e.flags, e.progress, e.updated_us, e.claimed_us,
       e.started_us, e.completed_us, e.deleted_us, e.worker, e.state, e.error, e.metadata,
       t.input, t.metadata, t.spec, e.output
FROM task t
LEFT JOIN ended e ON e.id = t.id
WHERE t.parent = ?1 AND t.id > ?2
ORDER BY t.id
LIMIT ?3
