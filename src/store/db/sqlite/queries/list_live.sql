-- Tasks that have not ended, newest first. Reads all of them and keeps the ?4 newest; ?5 is the set
-- of statuses.
SELECT id FROM (
    SELECT r.id + coalesce(n.value, 0) AS id, r.lane
    FROM ready r LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n WHERE ?5 & 1
    UNION ALL
    SELECT id, lane FROM held WHERE (?5 >> status) & 1
    UNION ALL
    SELECT id, lane FROM parked WHERE (?5 >> status) & 1)
WHERE id < ?1 AND id >= ?2 AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
ORDER BY id DESC
LIMIT ?4
