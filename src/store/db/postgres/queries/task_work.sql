-- The types and inputs of tasks that are not deleted. Primary keys.
-- @many keys
SELECT s.id AS key, l.type, s.input
FROM task s
CROSS JOIN LATERAL (SELECT n.type FROM lane n WHERE n.id = s.lane OFFSET 0) l
LEFT JOIN LATERAL (SELECT x.deleted_us FROM ended x WHERE x.id = s.id OFFSET 0) e ON true
WHERE s.id = ANY ($1::bigint[]) AND e.deleted_us IS NULL
