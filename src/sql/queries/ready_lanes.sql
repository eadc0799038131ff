-- The lanes that have tasks in line: skips from lane to lane in the primary key.
WITH RECURSIVE next (lane) AS (
    SELECT min(lane) FROM ready
    UNION ALL
    SELECT (SELECT min(lane) FROM ready WHERE lane > next.lane) FROM next WHERE lane IS NOT NULL
)
SELECT lane FROM next WHERE lane IS NOT NULL
