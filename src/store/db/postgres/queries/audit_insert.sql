-- Stores entries of the audit. Primary key.
-- @changes
-- @many rows
INSERT INTO audit (id, at_us, who, act, target, reason, request_id, previous_hash, hash)
SELECT id, at_us, who, act, target, reason, request_id, previous_hash, hash
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],
            $7::text[], $8::text[], $9::text[])
     AS p (id, at_us, who, act, target, reason, request_id, previous_hash, hash)
