-- Removes up to $4 groups whose last turn is not after $3: another task of them would get the same
-- turn as one of a new group. Index group_turn_last.
-- @changes
-- @many rows
DELETE FROM group_turn g
USING (SELECT f.lane, f.rank, f.name
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
            AS p (lane, rank, until, most)
       CROSS JOIN LATERAL (SELECT x.lane, x.rank, x.name FROM group_turn x
                           WHERE x.lane = p.lane AND x.rank = p.rank AND x.last <= p.until
                             AND x.name <> ''
                           ORDER BY x.lane, x.rank, x.last LIMIT p.most) f) d
WHERE g.lane = d.lane AND g.rank = d.rank AND g.name = d.name
