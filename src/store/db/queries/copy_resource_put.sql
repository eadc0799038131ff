-- Stores a resource with the next number.
-- @repeat
-- @changes
INSERT INTO resource (name, max_concurrency, is_set, rate_count, rate_per_ms, rate_burst,
                      rate_spent, rate_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
