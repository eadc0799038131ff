-- Stores a resource and its limit.
INSERT INTO resource (id, name, max_concurrency, is_set) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET max_concurrency = excluded.max_concurrency, is_set = excluded.is_set
