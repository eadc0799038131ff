-- Deletes the workers whose last heartbeat was at ?1 or before. Reads all of `worker`: a small
-- table.
-- @changes
DELETE FROM worker WHERE last_heartbeat_us <= ?1
