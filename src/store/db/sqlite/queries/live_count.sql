-- How many tasks have not ended, by the stored counts. Counts out of range are left out.
SELECT coalesce(sum(n), 0)
FROM tally
WHERE status < 5 AND n BETWEEN -1000000000000000 AND 1000000000000000
