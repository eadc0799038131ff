-- The oldest last heartbeat of a worker. Reads all of `worker`: a small table.
SELECT min(last_heartbeat_us) FROM worker
