-- Who has keys. Begin of the primary key: nearly always one task or none.
SELECT p.n, s.task
FROM unnest($1::bigint[]) WITH ORDINALITY AS p (hash, n)
JOIN task_key s ON s.hash = p.hash
