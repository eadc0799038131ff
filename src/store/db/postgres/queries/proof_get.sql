-- The number of a writer's last committed transaction. Waits for one that is just being committed.
SELECT number FROM proof WHERE writer = $1::text FOR UPDATE
