-- Ready tasks of a lane after a position: key, rank and creation. Reads the index of ready from
-- there.
SELECT r.id, r.rank, t.created_us
FROM ready r
JOIN task t ON t.id = r.id
WHERE r.lane = $1 AND (r.rank, r.id) > ($2, $3)
ORDER BY r.lane, r.rank, r.id
LIMIT $4
