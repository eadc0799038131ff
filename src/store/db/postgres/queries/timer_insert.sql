-- Stores timers. Primary key.
-- @changes
-- @many rows
INSERT INTO timer (at_us, task, kind)
SELECT at_us, task, kind
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p (at_us, task, kind)
ON CONFLICT DO NOTHING
