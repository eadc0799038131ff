-- Releases keys. Prefix of the primary key.
-- @changes
-- @many rows
DELETE FROM task_key
WHERE ctid = ANY (ARRAY(
    SELECT s.ctid
    FROM unnest($1::bigint[], $2::bigint[]) AS p (hash, task)
    CROSS JOIN LATERAL (SELECT r.ctid FROM task_key r
                        WHERE r.hash = p.hash AND r.task = p.task OFFSET 0) s))
