-- Stores events. Primary key (task, time, what).
-- @changes
-- @many rows
INSERT INTO event (task, at_us, what, status, actor, state, worker, detail)
SELECT task, at_us, what, status, actor, state, worker, detail
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[],
            $7::text[], $8::text[])
     AS p (task, at_us, what, status, actor, state, worker, detail)
ON CONFLICT DO NOTHING
