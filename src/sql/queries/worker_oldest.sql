-- When the most silent worker was last heard. Reads `worker` whole: a small table.
SELECT min(last_heartbeat_us) FROM worker
