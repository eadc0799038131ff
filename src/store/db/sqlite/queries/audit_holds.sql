-- Permits without a task that uses their resource, and missing permits of tasks that do. A task
-- uses its lane's resources while it is claimed, running or in the background. Reads whole tables.
WITH used (resource, task) AS (
    SELECT r.id, u.id
    FROM (SELECT id, lane FROM held UNION ALL SELECT id, lane FROM parked WHERE status = 4) u
    JOIN lane l ON l.id = u.lane
    JOIN json_each(CASE WHEN json_valid(l.resources) THEN l.resources ELSE '[]' END) n
    JOIN resource r ON r.name = n.value COLLATE NOCASE
)
SELECT (SELECT count(*) FROM (SELECT resource, task FROM hold EXCEPT SELECT * FROM used))
     + (SELECT count(*) FROM (SELECT * FROM used EXCEPT SELECT resource, task FROM hold))
