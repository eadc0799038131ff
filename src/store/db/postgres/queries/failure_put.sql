-- Counts failures of groups, each of them once. The tasks that failed last come first. Primary key;
-- locks the rows of the groups, in the order of the parameters.
-- @changes
-- @many rows
INSERT INTO failure_group (id, namespace, type, kind, message, count, first_us, last_us, tasks)
SELECT id, namespace, type, kind, message, count, first_us, last_us, tasks
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::text[])
     AS p (id, namespace, type, kind, message, count, first_us, last_us, tasks)
ON CONFLICT (id) DO UPDATE SET
    count = failure_group.count + excluded.count,
    last_us = greatest(failure_group.last_us, excluded.last_us),
    tasks = substr(excluded.tasks || failure_group.tasks, 1, 740)
