-- Every lane, for the cache. Of those with one name the first counts.
SELECT id, namespace, type, resources FROM lane ORDER BY id
