-- The place where the log goes on.
SELECT 0, coalesce(max(seq), 0) + 1 FROM log
