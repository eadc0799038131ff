-- The first turn among the ready tasks of a lane and rank. Index ready_turn.
SELECT turn FROM ready
WHERE lane = ?1 AND rank = ?2 AND turn IS NOT NULL
ORDER BY lane, rank, turn
LIMIT 1
