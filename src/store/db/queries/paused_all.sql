-- Every paused type, for the cache.
SELECT namespace, type FROM paused
