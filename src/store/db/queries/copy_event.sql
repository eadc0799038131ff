-- The next events, by primary key.
SELECT task, at_us, what, status, actor, state, worker, detail
FROM event
WHERE task >= CAST(?1 AS bigint)
  AND (task, at_us, what) > (CAST(?1 AS bigint), CAST(?2 AS bigint), CAST(?3 AS text))
ORDER BY task, at_us, what
LIMIT ?4
