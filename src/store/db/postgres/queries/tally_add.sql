-- Adds to counts, in this connection's own rows. A count out of range starts again at 0.
-- @changes
-- @many rows
INSERT INTO tally (lane, status, shard, n)
SELECT lane, status, pg_backend_pid() % 64, n
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS p (lane, status, n)
ORDER BY lane, status
ON CONFLICT (lane, status, shard) DO UPDATE
SET n = CASE WHEN tally.n BETWEEN -1000000000000000 AND 1000000000000000 THEN tally.n ELSE 0 END
        + excluded.n
