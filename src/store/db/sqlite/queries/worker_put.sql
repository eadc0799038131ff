-- Registers a worker, or updates its heartbeat: columns that are not given stay, and so do its
-- namespaces (?8). Returns its id, unless its namespaces differ from ?9 and ?10 is 0. A worker
-- of the node ?11 leads until ?12. Primary key.
INSERT INTO worker (id, hostname, started_us, last_heartbeat_us, pool_size, types, services,
                    version, is_leader, leader_until_us, namespaces, node)
VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?11 IS NOT NULL, CASE WHEN ?11 IS NOT NULL THEN ?12 END,
        ?8, ?11)
ON CONFLICT (id) DO UPDATE SET
    hostname = coalesce(excluded.hostname, worker.hostname),
    last_heartbeat_us = excluded.last_heartbeat_us,
    pool_size = CASE WHEN excluded.pool_size = 0 THEN worker.pool_size
                     ELSE excluded.pool_size END,
    types = coalesce(excluded.types, worker.types),
    services = coalesce(excluded.services, worker.services),
    version = coalesce(excluded.version, worker.version),
    is_leader = excluded.is_leader,
    leader_until_us = excluded.leader_until_us,
    node = excluded.node
WHERE ?10 <> 0 OR worker.namespaces IS ?9
RETURNING id
