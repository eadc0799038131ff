-- The counts; those of 0 say nothing.
SELECT lane, status, CAST(sum(n) AS bigint) FROM tally GROUP BY lane, status HAVING sum(n) <> 0
