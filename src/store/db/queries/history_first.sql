-- The first `seq` of the history, or nothing. Primary key.
SELECT seq FROM history ORDER BY seq LIMIT 1
