-- By primary key.
DELETE FROM held s
USING unnest($1::bigint[])
      AS p (id)
WHERE s.id = p.id
