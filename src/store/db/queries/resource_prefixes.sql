-- The names with "*" that set the limits of other resources. Index resource_prefix.
SELECT name, max_concurrency, rate_count, rate_per_ms, rate_burst
FROM resource
WHERE is_set <> 0 AND name LIKE '%*'
