-- Stores newly held tasks. Primary key.
-- @changes
-- @many rows
INSERT INTO held (id, tail, lane, rank, status, version, fence, attempts, flags, progress,
                  updated_us, claimed_us, started_us, lease_us, worker, state, error, metadata,
                  deadline_us)
SELECT id, tail, lane, rank, status, version, fence, attempts, flags, progress, updated_us,
       claimed_us, started_us, lease_us, worker, state, error, metadata,
       deadline_us
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[],
            $19::bigint[])
     AS p (id, tail, lane, rank, status, version, fence, attempts, flags, progress, updated_us,
           claimed_us, started_us, lease_us, worker, state, error, metadata, deadline_us)
