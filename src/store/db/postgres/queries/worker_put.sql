-- Registers a worker, or updates its heartbeat: columns that are not given stay, and so do its
-- namespaces ($8). Returns its id, unless its namespaces differ from $9 and $10 is 0. $11 is the
-- node that it is a part of; the leader is in another table, so $12 is not stored. Primary key.
-- @changes
INSERT INTO worker (id, hostname, started_us, last_heartbeat_us, pool_size, types, services,
                    version, namespaces, node)
VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $11)
ON CONFLICT (id) DO UPDATE SET
    hostname = coalesce(excluded.hostname, worker.hostname),
    last_heartbeat_us = excluded.last_heartbeat_us,
    pool_size = CASE WHEN excluded.pool_size = 0 THEN worker.pool_size
                     ELSE excluded.pool_size END,
    types = coalesce(excluded.types, worker.types),
    services = coalesce(excluded.services, worker.services),
    version = coalesce(excluded.version, worker.version),
    node = excluded.node
WHERE ($10::bigint <> 0 OR worker.namespaces IS NOT DISTINCT FROM $9::text)
  AND $12::bigint IS NOT NULL
RETURNING id
