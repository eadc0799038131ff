-- Frees keys. Begin of the primary key.
DELETE FROM task_key s
USING unnest($1::bigint[], $2::bigint[])
      AS p (hash, task)
WHERE s.hash = p.hash AND s.task = p.task
