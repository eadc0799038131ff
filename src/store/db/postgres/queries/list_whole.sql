-- All tasks with one of the statuses $1, which completed is not among. Reads all of them, in no
-- order: used when there are few. Index ended_badly.
SELECT r.id, r.lane
FROM ready r WHERE $1::bigint & 1 <> 0
UNION ALL
SELECT id, lane FROM held WHERE ($1::bigint >> status) & 1 <> 0
UNION ALL
SELECT id, lane FROM parked WHERE ($1::bigint >> status) & 1 <> 0
UNION ALL
SELECT id, lane FROM ended WHERE status = 6 AND status <> 5 AND ($1::bigint >> 6) & 1 <> 0
UNION ALL
SELECT id, lane FROM ended WHERE status = 7 AND status <> 5 AND ($1::bigint >> 7) & 1 <> 0
UNION ALL
SELECT id, lane FROM ended WHERE status = 8 AND status <> 5 AND ($1::bigint >> 8) & 1 <> 0
