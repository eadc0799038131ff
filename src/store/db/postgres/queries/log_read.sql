-- What was committed from a place in the log on, as far as nothing can come before it any more.
-- Primary key.
SELECT xid::text::bigint, seq, at_us, events FROM log
WHERE (xid, seq) >= ($1::text::xid8, $2::bigint)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, seq
LIMIT $3
