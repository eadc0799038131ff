-- What the workers heard after ?1 can do, and which namespaces they belong to. Reads `worker`
-- whole: a small table.
SELECT types, services, namespaces FROM worker WHERE last_heartbeat_us > ?1
