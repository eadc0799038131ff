-- Remembers the newest place that is no longer kept.
INSERT INTO log_forgotten (one, xid, seq) VALUES (1, ?1, ?2)
ON CONFLICT (one) DO UPDATE SET xid = excluded.xid, seq = excluded.seq
