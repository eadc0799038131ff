-- Adds messages at the end.
-- @changes
-- @many rows
INSERT INTO outbox (task, tail, namespace, type, status, attempt, priority, version, at_us)
SELECT task, tail, namespace, type, status, attempt, priority, version, at_us
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[])
     AS p (task, tail, namespace, type, status, attempt, priority, version, at_us)
