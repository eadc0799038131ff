-- What proves that a transaction was committed: its number, in its writer's row. When the number
-- before it is not $3, somebody has decided meanwhile that it was not: then it fails (1 / 0).
WITH put AS (
    INSERT INTO proof AS p (writer, number, at_us)
    VALUES ($1::text, $2::bigint, clock_us())
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at_us = excluded.at_us
    WHERE p.number = $3::bigint
    RETURNING 1)
SELECT 1 / count(*) FROM put
