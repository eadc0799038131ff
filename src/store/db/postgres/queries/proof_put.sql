-- What proves that a transaction was committed: its number, in its writer's row. When the number
-- before it is not $3, somebody has decided meanwhile that it was not: then it fails (a division by
-- zero).
INSERT INTO proof AS p (writer, number, at_us)
VALUES ($1::text, $2::bigint, $4::bigint)
ON CONFLICT (writer) DO UPDATE
SET number = excluded.number / (p.number = $3::bigint)::integer, at_us = excluded.at_us
