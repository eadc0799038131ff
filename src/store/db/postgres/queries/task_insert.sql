-- Stores submitted tasks. Appends: ids only grow.
-- @changes
-- @many rows
INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata,
                  spec, key, input_hash, parent, child, depth, team, created_by, retry_base_ms,
                  retry_factor, retry_max_ms, submitter, key_scope, timeout_ms, start_by_us,
       fair_group)
SELECT id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata, spec, key,
       input_hash, parent, child, depth, team, created_by, retry_base_ms, retry_factor,
       retry_max_ms, submitter, key_scope, timeout_ms, start_by_us,
       fair_group
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::text[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[],
            $13::text[], $14::bigint[], $15::text[], $16::bigint[], $17::text[], $18::text[],
            $19::bigint[], $20::double precision[], $21::bigint[], $22::bigint[],
            $23::bigint[], $24::bigint[], $25::bigint[], $26::text[])
     AS p (id, tail, lane, rank, created_us, max_attempts, input, run_at_us, name, metadata, spec,
           key, input_hash, parent, child, depth, team, created_by, retry_base_ms, retry_factor,
           retry_max_ms, submitter, key_scope, timeout_ms, start_by_us,
       fair_group)
