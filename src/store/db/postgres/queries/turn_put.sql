-- Stores the last turns of groups, and of lanes and ranks. Primary key.
-- @changes
-- @many rows
INSERT INTO group_turn (lane, rank, name, last, phase)
SELECT p.lane, p.rank, p.name, p.last, p.phase
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
     AS p (lane, rank, name, last, phase)
ON CONFLICT (lane, rank, name) DO UPDATE SET last = excluded.last, phase = excluded.phase
