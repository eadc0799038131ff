-- As list_whole, with what lists are sorted by. Also looks up each task by its primary key.
SELECT s.id, s.lane, t.rank, coalesce(s.at_us, t.run_at_us) FROM (
    SELECT r.id, r.lane, r.run_at_us AS at_us
    FROM ready r WHERE $1::bigint & 1 <> 0
    UNION ALL
    SELECT id, lane, NULL::bigint AS at_us FROM held WHERE ($1::bigint >> status) & 1 <> 0
    UNION ALL
    SELECT id, lane, CASE status WHEN 0 THEN at_us END
    FROM parked WHERE ($1::bigint >> status) & 1 <> 0
    UNION ALL
    SELECT id, lane, NULL::bigint
    FROM ended WHERE status = 6 AND status <> 5 AND ($1::bigint >> 6) & 1 <> 0
    UNION ALL
    SELECT id, lane, NULL::bigint
    FROM ended WHERE status = 7 AND status <> 5 AND ($1::bigint >> 7) & 1 <> 0
    UNION ALL
    SELECT id, lane, NULL::bigint
    FROM ended WHERE status = 8 AND status <> 5 AND ($1::bigint >> 8) & 1 <> 0) s
JOIN task t ON t.id = s.id
