-- Deletes the parts of the log of a task in a range of times. Primary key.
-- @changes
DELETE FROM event WHERE task = ?1 AND at_us >= ?2 AND at_us < ?3 AND what = 'log_lines'
