-- Permits that no longer belong to a task that is claimed, running or in the background, and those
-- that such a task should have. Reads everything.
SELECT (SELECT count(*) FROM hold h
        WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.id = h.task)
          AND NOT EXISTS (SELECT 1 FROM parked p WHERE p.id = h.task AND p.status = 4))
     + (SELECT count(*) FROM (SELECT id, lane FROM held
                              UNION ALL SELECT id, lane FROM parked WHERE status = 4) u
        JOIN lane l ON l.id = u.lane
        JOIN json_each(l.resources) n
        JOIN resource r ON r.name = n.value
        WHERE NOT EXISTS (SELECT 1 FROM hold h WHERE h.resource = r.id AND h.task = u.id))
