-- All resources, by name, for the cache and the list.
SELECT r.id, r.name, r.max_concurrency, r.is_set,
       (SELECT count(*) FROM hold h WHERE h.resource = r.id),
       r.rate_count, r.rate_per_ms, r.rate_burst, r.rate_spent, r.rate_us
FROM resource r
WHERE ?1 IS NULL OR r.name = ?1 COLLATE NOCASE
ORDER BY r.name
