-- Takes permits. Primary key.
-- @changes
-- @many rows
INSERT INTO hold (resource, task)
SELECT resource, task
FROM unnest($1::bigint[], $2::bigint[])
     AS p (resource, task)
