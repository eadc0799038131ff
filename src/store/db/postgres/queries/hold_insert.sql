-- Takes permits. Primary key.
INSERT INTO hold (resource, task)
SELECT resource, task
FROM unnest($1::bigint[], $2::bigint[])
     AS p (resource, task)
