-- How many tasks have one of the statuses ?1, by the stored counts. Counts out of range are left
-- out.
SELECT coalesce(sum(n), 0)
FROM tally
WHERE (?1 >> status) & 1 AND n BETWEEN -1000000000000000 AND 1000000000000000
