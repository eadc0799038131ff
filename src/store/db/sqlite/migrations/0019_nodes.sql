-- A worker is a part of a node: the process that has the file open leads, and serves the others.

ALTER TABLE worker ADD COLUMN node TEXT; -- hostname-pid-random; null: a client of a node

-- As in 0002. A pool size of -1 is that of a node that runs no tasks.
DROP VIEW workers;

CREATE VIEW workers AS
    SELECT w.id, w.hostname,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.started_us / 1e6, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.last_heartbeat_us / 1e6, 'unixepoch')
               AS last_heartbeat,
           max(w.pool_size, 0) AS pool_size, coalesce(w.types, '[]') AS types, w.services,
           w.version, w.is_leader,
           strftime('%Y-%m-%dT%H:%M:%fZ', w.leader_until_us / 1e6, 'unixepoch') AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w;
