-- The rest of ids, by primary key.
SELECT p.n, s.tail
FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
JOIN task s ON s.id = p.id
