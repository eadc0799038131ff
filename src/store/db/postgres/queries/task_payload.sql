-- What may be large about tasks, read only where it is shown. Primary keys.
SELECT s.id AS key, s.input, s.metadata, s.spec, e.output
FROM task s
LEFT JOIN LATERAL (SELECT x.output FROM ended x WHERE x.id = s.id OFFSET 0) e ON true
WHERE s.id = ANY ($1::bigint[])
