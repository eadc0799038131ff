-- Adds ready tasks. The primary key is the order of claiming.
-- @changes
-- @many rows
INSERT INTO ready (lane, rank, id, version, fence, attempts, flags, progress, state, updated_us,
                   claimed_us, started_us, error, metadata, run_at_us, turn)
SELECT lane, rank, id, version, fence, attempts, flags, progress, state, updated_us, claimed_us,
       started_us, error, metadata, run_at_us, turn
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::text[], $14::text[], $15::bigint[], $16::bigint[])
     AS p (lane, rank, id, version, fence, attempts, flags, progress, state, updated_us, claimed_us,
           started_us, error, metadata, run_at_us, turn)
