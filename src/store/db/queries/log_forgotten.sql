-- The newest place that is no longer kept.
SELECT xid, seq FROM log_forgotten
