-- Locks resources: other claims that need them wait until the transaction ends. The clock is read
-- after a row is locked.
-- @many rows
SELECT r.n, r.id, r.max_concurrency, r.is_set, r.rate_count, r.rate_per_ms, r.rate_burst,
       r.rate_spent, r.rate_us, clock_us()
FROM (SELECT p.n, s.id, s.max_concurrency, s.is_set, s.rate_count, s.rate_per_ms, s.rate_burst,
             s.rate_spent, s.rate_us
      FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
      JOIN resource s ON s.id = p.id
      ORDER BY s.id
      FOR UPDATE OF s) r
