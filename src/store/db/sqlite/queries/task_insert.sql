-- Stores a submitted task. Appends: ids only grow.
-- @repeat
INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata,
                  spec, key, input_hash, parent, child, depth, team, created_by, retry_base_ms,
                  retry_factor, retry_max_ms, submitter, key_scope, timeout_ms,
                  start_by_us, fair_group)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21, ?22, ?23, ?24, ?25, ?26)
