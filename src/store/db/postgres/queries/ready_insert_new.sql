-- Puts plain tasks that nobody has touched in line: every column but the key is null.
INSERT INTO ready (lane, rank, id)
SELECT lane, rank, id
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
     AS p (lane, rank, id)
