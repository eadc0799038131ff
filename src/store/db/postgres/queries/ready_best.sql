-- The best ready tasks of all lanes after a position, with their lanes. Locks nothing. Reads no
-- more than $3 rows of index ready_best, however many are ready.
SELECT l.id, l.namespace, l.type, l.resources, r.rank, r.id
FROM (SELECT lane, rank, id FROM ready
      WHERE (rank, id) > ($1::bigint, $2::bigint)
      ORDER BY rank, id LIMIT $3::bigint) r
JOIN lane l ON l.id = r.lane
ORDER BY r.rank, r.id
