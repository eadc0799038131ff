-- How many tasks a namespace has in each status; null: all of them.
SELECT t.status, sum(t.n)::bigint
FROM tally t
WHERE $1::text IS NULL OR t.lane IN (SELECT l.id FROM lane l WHERE l.namespace = $1)
GROUP BY t.status
