-- The first ready task of some lanes and ranks, from a position on. Primary key.
-- @many rows
SELECT p.n, (SELECT r.id FROM ready r
             WHERE r.lane = p.lane AND r.rank = p.rank AND r.id >= p.id
             ORDER BY r.id LIMIT 1)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS p (lane, rank, id, n)
