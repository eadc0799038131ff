-- The next timers, by primary key.
SELECT at_us, task, kind
FROM timer
WHERE (at_us, task, kind) > (CAST(?1 AS bigint), CAST(?2 AS bigint), CAST(?3 AS bigint))
ORDER BY at_us, task, kind
LIMIT ?4
