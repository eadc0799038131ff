-- The last turns of groups. Primary key.
-- @many rows
SELECT p.n, g.last
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS p (lane, rank, name, n)
CROSS JOIN LATERAL (SELECT x.last FROM group_turn x
                    WHERE x.lane = p.lane AND x.rank = p.rank AND x.name = p.name OFFSET 0) g
