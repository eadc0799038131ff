-- Committed rows from a position in the log, up to the oldest running transaction: no row can
-- appear before them. Primary key.
SELECT xid::text::bigint, seq, at_us, events FROM log
WHERE (xid, seq) >= ($1::text::xid8, $2::bigint)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, seq
LIMIT $3
