-- How many tasks have not ended, by the kept counts.
SELECT coalesce(sum(n), 0)::bigint FROM tally WHERE status < 5
