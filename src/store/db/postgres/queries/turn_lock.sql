-- The greatest turn of lanes and ranks, and the place of the next new group. Primary key. The rows
-- stay locked until the end of the transaction, so that nodes assign turns one after the other.
-- @many rows
SELECT p.n, g.last, g.phase
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS p (lane, rank, n)
CROSS JOIN LATERAL (SELECT * FROM group_turn g
                    WHERE g.lane = p.lane AND g.rank = p.rank AND g.name = ''
                    FOR UPDATE OFFSET 0) g
ORDER BY p.n
