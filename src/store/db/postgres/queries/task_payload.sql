-- The payloads of tasks, which may be large. Primary keys.
-- @many keys
SELECT s.id AS key, s.input, s.metadata, s.spec, e.output
FROM task s
LEFT JOIN LATERAL (SELECT x.output FROM ended x WHERE x.id = s.id OFFSET 0) e ON true
WHERE s.id = ANY ($1::bigint[])
