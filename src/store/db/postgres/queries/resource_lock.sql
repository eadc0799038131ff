-- Locks resources: other claims that need them wait until the transaction ends.
-- @many rows
SELECT r.n, r.id, r.max_concurrency
FROM (SELECT p.n, s.id, s.max_concurrency
      FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
      JOIN resource s ON s.id = p.id
      ORDER BY s.id
      FOR UPDATE OF s) r
