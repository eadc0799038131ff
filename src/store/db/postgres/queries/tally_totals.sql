-- How many tasks a namespace has in each status; null: all namespaces. Counts out of range are
-- damaged and left out.
SELECT t.status, sum(t.n)::bigint
FROM tally t
WHERE ($1::text IS NULL OR t.lane IN (SELECT l.id FROM lane l WHERE l.namespace = $1))
    AND t.n BETWEEN -1000000000000000 AND 1000000000000000
GROUP BY t.status
