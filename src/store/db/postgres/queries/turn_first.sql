-- The first turn among the ready tasks of lanes and ranks. Index ready_turn. Runs after turn_lock
-- has returned: it needs a newer snapshot.
-- @many rows
SELECT p.n, f.turn
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS p (lane, rank, n)
CROSS JOIN LATERAL (SELECT r.turn FROM ready r
                    WHERE r.lane = p.lane AND r.rank = p.rank AND r.turn IS NOT NULL
                    ORDER BY r.lane, r.rank, r.turn LIMIT 1) f
