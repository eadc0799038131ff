-- Removes the rows of the history from one `seq` to before another. Primary key.
-- @changes
DELETE FROM history WHERE seq >= ?1 AND seq < ?2
