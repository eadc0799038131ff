-- How many rows there are, counted up to ?1, the first and last position, and the oldest time.
SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT ?1) AS few),
       (SELECT min(seq) FROM outbox), (SELECT max(seq) FROM outbox),
       (SELECT at_us FROM outbox ORDER BY seq LIMIT 1)
