-- The types, services and namespaces of the workers that run tasks, with a heartbeat after ?1.
-- Reads all of `worker`: a small table.
SELECT types, services, namespaces FROM worker WHERE last_heartbeat_us > ?1 AND pool_size >= 0
