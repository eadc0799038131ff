-- Forgets the workers that were last heard at ?1 or before. Reads `worker` whole: a small table.
DELETE FROM worker WHERE last_heartbeat_us <= ?1
