-- What the workers heard after ?1 can do. Reads `worker` whole: a small table.
SELECT types, services FROM worker WHERE last_heartbeat_us > ?1
