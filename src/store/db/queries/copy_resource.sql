-- All resources. A bucket that was used continues in the copy.
SELECT name, max_concurrency, is_set, rate_count, rate_per_ms, rate_burst, rate_spent, rate_us
FROM resource ORDER BY id
