-- The place where the log goes on.
SELECT 0, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'log'), 0) + 1
