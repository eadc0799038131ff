-- Stores emitted events and their results. A second event with the same id fails: see emitted_get.
-- @changes
-- @many rows
INSERT INTO happened (namespace, id, type, data, at_us, tasks, failures)
SELECT namespace, id, type, data, at_us, tasks, failures
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
     AS p (namespace, id, type, data, at_us, tasks, failures)
