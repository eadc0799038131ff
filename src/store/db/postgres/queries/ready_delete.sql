-- Deletes ready tasks, by primary key.
-- @changes
-- @many rows
DELETE FROM ready
WHERE ctid = ANY (ARRAY(
    SELECT s.ctid
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p (lane, rank, id)
    CROSS JOIN LATERAL (SELECT r.ctid FROM ready r
                        WHERE r.lane = p.lane AND r.rank = p.rank AND r.id = p.id OFFSET 0) s))
