-- Adds the rows of lanes and ranks that have no turns yet.
-- @changes
-- @many rows
INSERT INTO group_turn (lane, rank, name, last, phase)
SELECT p.lane, p.rank, '', 0, 0
FROM unnest($1::bigint[], $2::bigint[]) AS p (lane, rank)
ON CONFLICT (lane, rank, name) DO NOTHING
