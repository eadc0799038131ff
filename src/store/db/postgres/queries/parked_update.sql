-- Updates parked tasks. Primary key.
-- @changes
-- @many rows
UPDATE parked s
SET status = p.status, at_us = p.at_us, version = p.version, fence = p.fence, attempts = p.attempts,
    flags = p.flags, deps_left = p.deps_left, deps_bad = p.deps_bad, progress = p.progress,
    updated_us = p.updated_us, claimed_us = p.claimed_us, started_us = p.started_us,
    state = p.state, error = p.error, metadata = p.metadata
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[])
     AS p (id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad, progress,
           updated_us, claimed_us, started_us, state, error, metadata)
CROSS JOIN LATERAL (SELECT r.ctid AS place FROM parked r WHERE r.id = p.id OFFSET 0) r
WHERE s.ctid = r.place
