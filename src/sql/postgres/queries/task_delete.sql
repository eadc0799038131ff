-- Removes tasks for good, by primary key.
DELETE FROM task s
USING unnest($1::bigint[])
      AS p (id)
WHERE s.id = p.id
