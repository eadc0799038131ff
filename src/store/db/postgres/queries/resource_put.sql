-- Stores a resource's limits. What was spent of its rate stays.
-- @changes
UPDATE resource
SET max_concurrency = $3, is_set = $4::smallint, rate_count = $5, rate_per_ms = $6, rate_burst = $7
WHERE id = $1
