-- Takes tasks out of line, by primary key.
DELETE FROM ready s
USING unnest($1::bigint[], $2::bigint[], $3::bigint[])
      AS p (lane, rank, id)
WHERE s.lane = p.lane AND s.rank = p.rank AND s.id = p.id
