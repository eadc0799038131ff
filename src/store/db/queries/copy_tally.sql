-- The counts that are not 0.
SELECT lane, status, CAST(sum(n) AS bigint) FROM tally GROUP BY lane, status HAVING sum(n) <> 0
