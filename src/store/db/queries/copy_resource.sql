-- All resources.
SELECT name, max_concurrency, is_set FROM resource ORDER BY id
