-- Remembers the newest place that is no longer kept. It never goes back: after a clock was set, an
-- older place may be forgotten later.
INSERT INTO log_forgotten (one, xid, seq) VALUES (1, ?1, ?2)
ON CONFLICT (one) DO UPDATE SET xid = excluded.xid, seq = excluded.seq
WHERE (excluded.xid, excluded.seq) > (log_forgotten.xid, log_forgotten.seq)
