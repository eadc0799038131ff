-- The lanes that came after the one that the cache knows last.
SELECT id, namespace, type, resources FROM lane WHERE id > $1 ORDER BY id
