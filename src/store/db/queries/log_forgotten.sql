-- The newest position that was deleted from the log.
SELECT xid, seq FROM log_forgotten
