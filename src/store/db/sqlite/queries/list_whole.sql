-- All tasks with one of the statuses ?1, which completed is not among. Reads all of them, in no
-- order: used when there are few. Index ended_badly.
SELECT r.id + coalesce(n.value, 0) AS id, r.lane
FROM ready r LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n WHERE ?1 & 1
UNION ALL
SELECT id, lane FROM held WHERE (?1 >> status) & 1
UNION ALL
SELECT id, lane FROM parked WHERE (?1 >> status) & 1
UNION ALL
SELECT id, lane FROM ended WHERE status = 6 AND status <> 5 AND (?1 >> 6) & 1
UNION ALL
SELECT id, lane FROM ended WHERE status = 7 AND status <> 5 AND (?1 >> 7) & 1
UNION ALL
SELECT id, lane FROM ended WHERE status = 8 AND status <> 5 AND (?1 >> 8) & 1
