-- The position of the next row of the log.
SELECT 0, coalesce(max(seq), 0) + 1 FROM log
