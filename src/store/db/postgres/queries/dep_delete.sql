-- Deletes the dependencies of tasks, and those on them. Two indexes.
-- @changes
-- @many keys
DELETE FROM task_dep
WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM task_dep d WHERE d.task = ANY ($1::bigint[])
                        UNION ALL
                        SELECT d.ctid FROM task_dep d WHERE d.needs = ANY ($1::bigint[])))
