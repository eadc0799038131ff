-- Workers that have registered, and a view of them for people.
--
-- The table has one row for each worker, so statements may read all of it. A worker without a
-- heartbeat for too long is deleted; its tasks are retried when their leases expire. Times are
-- microseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS worker (
    id                text PRIMARY KEY,
    hostname          text,
    started_us        bigint NOT NULL,  -- when it registered
    last_heartbeat_us bigint NOT NULL,
    pool_size         integer NOT NULL, -- 0: unknown
    types             text,             -- JSON array of names; null or empty: any
    services          text,             -- JSON array of names; null: all, empty: none
    version           text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- For people ------------------------------------------------------------------------------------

-- A worker and the node that it is part of have ids that begin alike: host name and process id.
CREATE OR REPLACE FUNCTION worker_leads_until(worker text) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$ SELECT l.until_us FROM leader l
      WHERE l.until_us > clock_us()
        AND regexp_replace(l.holder, '-[^-]*$', '') = regexp_replace(worker, '-[^-]*$', '') $$;

CREATE OR REPLACE VIEW workers AS
    SELECT w.id, w.hostname, us_to_time(w.started_us) AS started_at,
           us_to_time(w.last_heartbeat_us) AS last_heartbeat, w.pool_size,
           coalesce(w.types, '[]')::json AS types, w.services::json AS services, w.version,
           worker_leads_until(w.id) IS NOT NULL AS is_leader,
           us_to_time(worker_leads_until(w.id)) AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w;
