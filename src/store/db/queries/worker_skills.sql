-- The types, services and namespaces of the workers with a heartbeat after ?1. Reads all of
-- `worker`: a small table.
SELECT types, services, namespaces FROM worker WHERE last_heartbeat_us > ?1
