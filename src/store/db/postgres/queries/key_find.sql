-- The tasks that have keys. Prefix of the primary key: nearly always one task or none.
-- @many keys
SELECT s.hash AS key, s.task FROM task_key s WHERE s.hash = ANY ($1::bigint[])
