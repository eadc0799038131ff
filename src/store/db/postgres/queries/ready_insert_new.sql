-- Adds new plain tasks that are unchanged since their submit: every column but the key is null.
-- @changes
-- @many rows
INSERT INTO ready (lane, rank, id)
SELECT lane, rank, id
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
     AS p (lane, rank, id)
