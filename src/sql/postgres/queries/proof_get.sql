-- The number of the last transaction of a writer that was committed. Waits for one that is just
-- being committed.
SELECT number FROM proof WHERE writer = $1::text FOR UPDATE
