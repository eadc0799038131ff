-- All lanes, for the cache. Of lanes with the same name the first counts.
SELECT id, namespace, type, resources FROM lane ORDER BY id
