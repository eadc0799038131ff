-- Stores ended tasks. Primary key, and ended_badly unless they completed.
-- @changes
-- @many rows
INSERT INTO ended (id, lane, status, version, fence, attempts, flags, progress, updated_us,
                   claimed_us, started_us, completed_us, deleted_us, worker, state, error, metadata,
                   output)
SELECT id, lane, status, version, fence, attempts, flags, progress, updated_us, claimed_us,
       started_us, completed_us, deleted_us, worker, state, error, metadata, output
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
     AS p (id, lane, status, version, fence, attempts, flags, progress, updated_us, claimed_us,
           started_us, completed_us, deleted_us, worker, state, error, metadata, output)
