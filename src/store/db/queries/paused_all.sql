-- All paused types, for the cache.
SELECT namespace, type FROM paused
