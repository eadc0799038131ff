-- The lanes that have ready tasks, with the first position of each. Skips from lane to lane in the
-- primary key.
WITH RECURSIVE next (lane) AS (
    SELECT min(lane) FROM ready
    UNION ALL
    SELECT (SELECT min(lane) FROM ready WHERE lane > next.lane) FROM next WHERE lane IS NOT NULL
)
SELECT lane,
       (SELECT r.rank FROM ready r WHERE r.lane = next.lane ORDER BY r.rank, r.id LIMIT 1),
       (SELECT r.id FROM ready r WHERE r.lane = next.lane ORDER BY r.rank, r.id LIMIT 1)
FROM next
WHERE lane IS NOT NULL
