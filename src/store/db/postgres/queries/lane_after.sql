-- The lanes after the newest one in the cache, up to 300. A cache that has more lanes is not
-- refreshed this way.
SELECT id, namespace, type, resources FROM lane WHERE id > $1 ORDER BY id LIMIT 300
