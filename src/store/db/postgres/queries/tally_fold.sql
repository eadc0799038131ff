-- Adds the counts of submits in SQL to this connection's own, and returns them by type. Index
-- tally_loose; rows of uncommitted submits are not visible.
-- @changes
WITH loose AS MATERIALIZED (
    SELECT lane, status, shard FROM tally WHERE shard > 63 ORDER BY shard LIMIT $1
    FOR UPDATE SKIP LOCKED),
gone AS (
    DELETE FROM tally t USING loose l
    WHERE t.lane = l.lane AND t.status = l.status AND t.shard = l.shard
    RETURNING t.lane, t.status, t.n),
kept AS (
    INSERT INTO tally (lane, status, shard, n)
    SELECT lane, status, pg_backend_pid() % 64, sum(n) FROM gone
    GROUP BY lane, status
    ORDER BY lane, status
    ON CONFLICT (lane, status, shard) DO UPDATE SET n = tally.n + excluded.n)
SELECT l.namespace, l.type, sum(g.n)::bigint
FROM gone g
JOIN lane l ON l.id = g.lane
GROUP BY l.namespace, l.type
