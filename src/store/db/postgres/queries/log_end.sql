-- The position of the next row of the log.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0::bigint
