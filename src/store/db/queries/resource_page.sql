-- Resources after the name ?1 that have a limit or are in use, ?2 at most. Index on the name.
SELECT r.id, r.name, r.max_concurrency, r.is_set,
       (SELECT count(*) FROM hold h WHERE h.resource = r.id),
       r.rate_count, r.rate_per_ms, r.rate_burst, r.rate_spent, r.rate_us
FROM resource r
WHERE r.name > ?1 AND (r.is_set <> 0 OR EXISTS (SELECT 1 FROM hold h WHERE h.resource = r.id))
ORDER BY r.name
LIMIT ?2
