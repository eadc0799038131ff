-- Forgets what tasks waited for, and who waited for them. Two indexes.
DELETE FROM task_dep
WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM task_dep d WHERE d.task = ANY ($1::bigint[])
                        UNION ALL
                        SELECT d.ctid FROM task_dep d WHERE d.needs = ANY ($1::bigint[])))
