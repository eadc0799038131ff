-- What may be large about tasks, read only where it is shown. Primary keys.
SELECT p.n, s.input, s.metadata, s.spec, e.output
FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
JOIN task s ON s.id = p.id
LEFT JOIN ended e ON e.id = s.id
