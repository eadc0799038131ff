-- Permits without a task that uses their resource, and missing permits of tasks that do. A task
-- uses its lane's resources while it is claimed, running or in the background. Reads whole tables.
WITH used (resource, task) AS (
    SELECT r.id, u.id
    FROM (SELECT id, lane FROM held UNION ALL SELECT id, lane FROM parked WHERE status = 4) u
    JOIN lane l ON l.id = u.lane
    CROSS JOIN LATERAL json_array_elements_text(l.resources::json) AS n (name)
    JOIN resource r ON lower(r.name COLLATE "C") = lower(n.name COLLATE "C")
)
SELECT (SELECT count(*) FROM (SELECT resource, task FROM hold EXCEPT SELECT * FROM used) a)
     + (SELECT count(*) FROM (SELECT * FROM used EXCEPT SELECT resource, task FROM hold) b)
