-- Forgets what tasks waited for, and who waited for them. Two indexes.
DELETE FROM task_dep s
USING unnest($1::bigint[])
      AS p (id)
WHERE s.task = p.id OR s.needs = p.id
