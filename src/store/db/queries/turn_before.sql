-- How many ready tasks of a lane and rank have a turn before ?3 (counted up to 10,000), and the
-- first turn. Index ready_turn.
SELECT (SELECT count(*)
        FROM (SELECT 1 FROM ready r
              WHERE r.lane = ?1 AND r.rank = ?2 AND r.turn < ?3 AND r.turn IS NOT NULL
              LIMIT 10000) b),
       (SELECT r.turn FROM ready r
        WHERE r.lane = ?1 AND r.rank = ?2 AND r.turn IS NOT NULL
        ORDER BY r.lane, r.rank, r.turn LIMIT 1)
