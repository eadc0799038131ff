-- Claimed and running tasks. Reads all of `held`: as many rows as tasks are under way.
SELECT id, updated_us, lane FROM held
