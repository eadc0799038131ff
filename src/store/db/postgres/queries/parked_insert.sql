-- Stores newly parked tasks. Primary key, and parked_at if they have a time.
-- @changes
-- @many rows
INSERT INTO parked (id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad,
                    progress, updated_us, claimed_us, started_us, state, error, metadata)
SELECT id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad, progress,
       updated_us, claimed_us, started_us, state, error, metadata
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[])
     AS p (id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad, progress,
           updated_us, claimed_us, started_us, state, error, metadata)
