-- Releases permits. Primary key.
-- @changes
-- @many rows
DELETE FROM hold
WHERE ctid = ANY (ARRAY(
    SELECT s.ctid
    FROM unnest($1::bigint[], $2::bigint[]) AS p (resource, task)
    CROSS JOIN LATERAL (SELECT r.ctid FROM hold r
                        WHERE r.resource = p.resource AND r.task = p.task OFFSET 0) s))
