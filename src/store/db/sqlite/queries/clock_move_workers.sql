-- The same for the time since a worker's last heartbeat. Reads all of `worker`.
UPDATE worker SET last_heartbeat_us = last_heartbeat_us + ?1
