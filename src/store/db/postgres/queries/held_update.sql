-- Updates held tasks. Primary key; no index changes, so the update is HOT. A task's lane changes
-- when it was released with more resources and claimed again in one transaction.
-- @changes
-- @many rows
UPDATE held s
SET lane = p.lane, status = p.status, version = p.version, fence = p.fence, attempts = p.attempts,
    flags = p.flags, progress = p.progress, updated_us = p.updated_us, claimed_us = p.claimed_us,
    started_us = p.started_us, lease_us = p.lease_us, worker = p.worker, state = p.state,
    error = p.error, metadata = p.metadata, deadline_us = p.deadline_us
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[],
            $19::bigint[])
     AS p (id, tail, lane, rank, status, version, fence, attempts, flags, progress, updated_us,
           claimed_us, started_us, lease_us, worker, state, error, metadata, deadline_us)
CROSS JOIN LATERAL (SELECT r.ctid AS place FROM held r WHERE r.id = p.id OFFSET 0) r
WHERE s.ctid = r.place
