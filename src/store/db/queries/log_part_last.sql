-- The newest part of the log of an attempt that was claimed at ?2. Primary key.
SELECT at_us, detail FROM event
WHERE task = ?1 AND at_us >= ?2 AND what = 'log_lines'
ORDER BY at_us DESC LIMIT 1
