-- As list_whole, with what lists are sorted by. Also looks up each task by its primary key.
SELECT s.id, s.lane, t.rank, coalesce(s.at_us, t.run_at_us) FROM (
    SELECT r.id + coalesce(n.value, 0) AS id, r.lane, r.run_at_us AS at_us
    FROM ready r LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n WHERE ?1 & 1
    UNION ALL
    SELECT id, lane, NULL AS at_us FROM held WHERE (?1 >> status) & 1
    UNION ALL
    SELECT id, lane, CASE status WHEN 0 THEN at_us END FROM parked WHERE (?1 >> status) & 1
    UNION ALL
    SELECT id, lane, NULL FROM ended WHERE status = 6 AND status <> 5 AND (?1 >> 6) & 1
    UNION ALL
    SELECT id, lane, NULL FROM ended WHERE status = 7 AND status <> 5 AND (?1 >> 7) & 1
    UNION ALL
    SELECT id, lane, NULL FROM ended WHERE status = 8 AND status <> 5 AND (?1 >> 8) & 1) s
CROSS JOIN task t ON t.id = s.id
