-- Workers with a heartbeat after $1, or the one with the id $2, by id after $3, $4 at most, and how
-- many tasks each holds. Reads all of `held` once: as many rows as held tasks.
SELECT w.id, w.hostname, w.started_us, w.last_heartbeat_us, w.pool_size, w.types, w.services,
       w.version, l.until_us IS NOT NULL, l.until_us, coalesce(h.n, 0), w.namespaces
FROM worker w
LEFT JOIN leader l ON l.holder = w.node AND l.until_us > clock_us()
LEFT JOIN (SELECT worker, count(*) AS n FROM held WHERE worker IS NOT NULL GROUP BY worker) h
    ON h.worker = w.id
WHERE w.last_heartbeat_us > $1 AND ($2::text IS NULL OR w.id = $2) AND w.id > $3
ORDER BY w.id
LIMIT $4
