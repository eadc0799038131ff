-- How many tasks of a lane are pending, due or not. Primary key.
SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM tally WHERE lane = ?1 AND status = 0
