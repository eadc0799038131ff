-- By primary key.
DELETE FROM ended s
USING unnest($1::bigint[])
      AS p (id)
WHERE s.id = p.id
