-- Makes the partitions of today and of a week after it, where they are missing. Fails when somebody
-- is in the way for too long.
SELECT make_partitions(7)
