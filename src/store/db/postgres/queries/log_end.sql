-- The place where the log goes on.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0::bigint
