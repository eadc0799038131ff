-- Forgets the events of tasks. Begin of the primary key.
DELETE FROM event s
USING unnest($1::bigint[])
      AS p (id)
WHERE s.task = p.id
