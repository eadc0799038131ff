-- Stores the buckets of resources from which tokens were taken. Primary key; no index changes, so
-- the update is HOT. The rows were locked by resource_lock.
-- @changes
-- @many rows
UPDATE resource s
SET rate_spent = p.spent, rate_us = p.at_us
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p (id, spent, at_us)
WHERE s.id = p.id
