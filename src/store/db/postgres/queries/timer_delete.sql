-- Removes timers. Primary key.
-- @changes
-- @many rows
DELETE FROM timer
WHERE ctid = ANY (ARRAY(
    SELECT s.ctid
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p (at_us, task, kind)
    CROSS JOIN LATERAL (SELECT r.ctid FROM timer r
                        WHERE r.at_us = p.at_us AND r.task = p.task AND r.kind = p.kind
                        OFFSET 0) s))
