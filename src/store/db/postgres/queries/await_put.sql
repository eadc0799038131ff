-- Stores that a node waits for tasks, and deletes expired waits.
-- @changes
-- @array
WITH gone AS (DELETE FROM awaited WHERE until_us < clock_us())
INSERT INTO awaited (task, node, until_us)
SELECT task, $2::text, clock_us() + $3::bigint
FROM unnest ($1::bigint[]) AS p (task)
ON CONFLICT (task, node) DO UPDATE SET until_us = excluded.until_us
