-- Gives permits back. Primary key.
DELETE FROM hold s
USING unnest($1::bigint[], $2::bigint[])
      AS p (resource, task)
WHERE s.resource = p.resource AND s.task = p.task
