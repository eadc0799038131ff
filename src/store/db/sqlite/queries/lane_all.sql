-- All lanes, for the cache.
SELECT id, namespace, type, resources FROM lane
