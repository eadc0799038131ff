-- Stores the newest deleted position of the log. It never decreases: after a clock was set, an
-- older position may be deleted later.
-- @changes
INSERT INTO log_forgotten (one, xid, seq) VALUES (1, ?1, ?2)
ON CONFLICT (one) DO UPDATE SET xid = excluded.xid, seq = excluded.seq
WHERE (excluded.xid, excluded.seq) > (log_forgotten.xid, log_forgotten.seq)
