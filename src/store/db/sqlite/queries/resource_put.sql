-- Stores a resource and its limits. What was spent of its rate stays.
INSERT INTO resource (id, name, max_concurrency, is_set, rate_count, rate_per_ms, rate_burst)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE
SET max_concurrency = excluded.max_concurrency, is_set = excluded.is_set,
    rate_count = excluded.rate_count, rate_per_ms = excluded.rate_per_ms,
    rate_burst = excluded.rate_burst
