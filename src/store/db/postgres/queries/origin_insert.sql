-- Stores the origins of tasks. Primary key.
-- @changes
-- @many rows
INSERT INTO origin (task, workflow, trigger_name, version, event, depth)
SELECT task, workflow, trigger_name, version, event, depth
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[])
     AS p (task, workflow, trigger_name, version, event, depth)
