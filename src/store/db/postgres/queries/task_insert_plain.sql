-- Stores submitted tasks that have no more than a type, a priority, an input, a key, a name and a
-- submitter: most tasks. Appends.
-- @changes
-- @many rows
INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input, name, key,
                  submitter)
SELECT id, tail, lane, rank, created_us, max_attempts, input, name, key, submitter
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::text[], $8::text[], $9::text[], $10::bigint[])
     AS p (id, tail, lane, rank, created_us, max_attempts, input, name, key, submitter)
