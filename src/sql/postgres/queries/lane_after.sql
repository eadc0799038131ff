-- The lanes that came after the one that the cache knows last. If they are more than these, the
-- cache has so many from now on that they are not asked for like this again.
SELECT id, namespace, type, resources FROM lane WHERE id > $1 ORDER BY id LIMIT 300
