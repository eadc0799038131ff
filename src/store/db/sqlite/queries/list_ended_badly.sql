-- Tasks that ended without completing, newest first. Index ended_badly.
SELECT id FROM (
    SELECT * FROM (SELECT id, lane FROM ended WHERE status = 6 AND status <> 5
                   AND (?5 >> 6) & 1 AND id < ?1 AND id >= ?2
                   AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
                   ORDER BY id DESC LIMIT ?4)
    UNION ALL
    SELECT * FROM (SELECT id, lane FROM ended WHERE status = 7 AND status <> 5
                   AND (?5 >> 7) & 1 AND id < ?1 AND id >= ?2
                   AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
                   ORDER BY id DESC LIMIT ?4)
    UNION ALL
    SELECT * FROM (SELECT id, lane FROM ended WHERE status = 8 AND status <> 5
                   AND (?5 >> 8) & 1 AND id < ?1 AND id >= ?2
                   AND (?3 IS NULL OR lane IN (SELECT value FROM json_each(?3)))
                   ORDER BY id DESC LIMIT ?4))
ORDER BY id DESC
LIMIT ?4
