-- The next ready tasks, by primary key.
SELECT lane, rank, id, version, fence, attempts, flags, progress, state, updated_us, claimed_us,
       started_us, error, metadata, run_at_us, turn
FROM ready
WHERE (lane, rank, id) > (CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS bigint))
ORDER BY lane, rank, id
LIMIT $4
