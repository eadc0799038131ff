-- Workers that have registered, and a view of them for people.
--
-- The table has one row for each worker, so statements may read all of it. A worker without a
-- heartbeat for too long is deleted; its tasks are retried when their leases expire. Times are
-- microseconds since 1970 UTC.

CREATE TABLE worker (
    id                TEXT PRIMARY KEY,
    hostname          TEXT,
    started_us        INTEGER NOT NULL, -- when it registered
    last_heartbeat_us INTEGER NOT NULL,
    pool_size         INTEGER NOT NULL, -- 0: unknown
    types             TEXT,             -- JSON array of names; null or empty: any
    services          TEXT,             -- JSON array of names; null: all, empty: none
    version           TEXT,
    is_leader         INTEGER NOT NULL, -- 1: it does the chores of the fleet
    leader_until_us   INTEGER
) WITHOUT ROWID;

-- For people ------------------------------------------------------------------------------------

CREATE VIEW workers AS
    SELECT w.id, w.hostname,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.started_us / 1e6, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.last_heartbeat_us / 1e6, 'unixepoch')
               AS last_heartbeat,
           w.pool_size, coalesce(w.types, '[]') AS types, w.services, w.version, w.is_leader,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.leader_until_us / 1e6, 'unixepoch') AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w;
