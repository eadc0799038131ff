-- The best tasks in line of all lanes after a place, with their lanes. Nothing is locked. Reads no
-- more than $3 rows of index ready_best, however many wait.
SELECT l.id, l.namespace, l.type, l.resources, r.rank, r.id
FROM (SELECT lane, rank, id FROM ready
      WHERE (rank, id) > ($1::bigint, $2::bigint)
      ORDER BY rank, id LIMIT $3::bigint) r
JOIN lane l ON l.id = r.lane
ORDER BY r.rank, r.id
