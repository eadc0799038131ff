-- Views that show what a task depends on and who leads, and submits in SQL refused as elsewhere.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Who leads is read with the rights of the view, not of whoever looks: SELECT on it is enough.
CREATE OR REPLACE VIEW workers AS
    SELECT w.id, w.hostname, us_to_time(w.started_us) AS started_at,
           us_to_time(w.last_heartbeat_us) AS last_heartbeat, w.pool_size,
           coalesce(w.types, '[]')::json AS types, w.services::json AS services, w.version,
           l.until_us IS NOT NULL AS is_leader, us_to_time(l.until_us) AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w
    LEFT JOIN leader l
        ON l.until_us > clock_us()
       AND regexp_replace(l.holder, '-[^-]*$', '') = regexp_replace(w.id, '-[^-]*$', '');

-- As in 0001, and what the task waits for, or waited.
CREATE OR REPLACE VIEW tasks AS
    SELECT task_uuid(t.id, t.tail) AS id, l.namespace, l.type, coalesce(t.name, l.type) AS name,
           n.name AS status, coalesce(s.state, n.state) AS state,
           coalesce(s.progress, 0) AS progress, -t.rank AS priority, t.input::json AS input,
           s.output::json AS output, s.error::json AS error,
           coalesce(s.metadata, t.metadata)::json AS metadata, t.spec::json AS spec,
           t.key AS idempotency_key, t.input_hash, coalesce(s.attempts, 0) AS attempts,
           t.max_attempts,
           us_to_time(coalesce(CASE WHEN s.status = 0 THEN s.at_us END, t.run_at_us)) AS run_at,
           CASE WHEN s.status IN (1, 2) THEN s.worker END AS worker_id,
           us_to_time(CASE WHEN s.status IN (1, 2) THEN s.at_us END) AS lease_expires_at,
           (SELECT task_uuid(p.id, p.tail) FROM task p WHERE p.id = t.parent) AS parent_id,
           l.resources::json AS resources, tm.id AS team_id, t.created_by,
           us_to_time(CASE WHEN s.status = 4 THEN s.at_us END) AS expires_at,
           coalesce(s.version, 1) AS version, coalesce(s.fence, 0) AS fence,
           us_to_time(t.created_us) AS created_at,
           us_to_time(coalesce(s.updated_us, t.created_us)) AS updated_at,
           us_to_time(s.claimed_us) AS claimed_at, us_to_time(s.started_us) AS started_at,
           us_to_time(s.completed_us) AS completed_at, us_to_time(s.deleted_us) AS deleted_at,
           (SELECT coalesce(json_agg(task_uuid(n.id, n.tail) ORDER BY n.id), '[]')
            FROM task_dep d JOIN task n ON n.id = d.needs WHERE d.task = t.id) AS depends_on
    FROM task t
    JOIN lane l ON l.id = t.lane
    JOIN task_standing s ON s.id = t.id
    JOIN status_name n ON n.status = s.status
    LEFT JOIN team tm ON tm.id = t.team;

-- As in 0005, but there is no hour 24.
CREATE OR REPLACE FUNCTION submit_time(place text, field text, value jsonb)
RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
    written text := regexp_replace(value #>> '{}', '(\.[0-9]{6})[0-9]{1,3}', '\1');
    us bigint;
BEGIN
    IF written IS NULL THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) = 'string' AND written ~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]'
            '([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})$') THEN
        BEGIN
            us := (extract(epoch FROM written::timestamptz) * 1000000)::bigint;
        EXCEPTION WHEN data_exception THEN
            us := NULL; -- the 30th of February
        END;
    END IF;
    IF us IS NULL THEN
        PERFORM submit_refuse(place, field, format('is not a time: %s', left(written, 44)),
                              'Write it as 2026-01-02T03:04:05Z or 2026-01-02T03:04:05.678+01:00.');
    END IF;
    IF us < 0 OR us > 253402300799999999 THEN
        PERFORM submit_refuse(place, field, 'must be in the years 1970 to 9999',
                              'Leave it out for now.');
    END IF;
    RETURN nullif(us, 0);
END $$;

-- As in 0005, but a delay that PostgreSQL can't add to a time is refused like all the rest.
CREATE OR REPLACE FUNCTION submit(
    type text, input jsonb DEFAULT NULL, namespace text DEFAULT NULL, name text DEFAULT NULL,
    priority integer DEFAULT NULL, delay interval DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    key text DEFAULT NULL, max_attempts integer DEFAULT NULL, resources text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL, spec jsonb DEFAULT NULL, team uuid DEFAULT NULL,
    created_by text DEFAULT NULL, depends_on uuid[] DEFAULT NULL, retry jsonb DEFAULT NULL,
    dedupe text DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql
AS $$
DECLARE
    now timestamptz := clock_timestamp();
    now_us bigint := (extract(epoch FROM now) * 1000000)::bigint;
    task new_task;
BEGIN
    IF NOT isfinite(submit.run_at) THEN
        PERFORM submit_refuse('', 'runAt', 'must be in the years 1970 to 9999', 'Give a time.');
    END IF;
    IF submit.delay > interval '36600 days' THEN -- before it is added to anything
        PERFORM submit_refuse('', 'delay', 'is longer than 100 years', 'Use a shorter one.');
    END IF;
    IF submit.delay < interval '-36600 days' THEN
        PERFORM submit_refuse('', 'delay', 'must not be negative', 'Leave it out for now.');
    END IF;
    task := submit_plan('', jsonb_build_object(
        'type', submit.type, 'input', submit.input, 'namespace', submit.namespace,
        'name', submit.name, 'priority', submit.priority,
        -- A month from now, whatever its length.
        'delay', extract(epoch FROM (now + submit.delay) - now),
        'runAt', to_char(submit.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'idempotencyKey', submit.key, 'maxAttempts', submit.max_attempts,
        'resources', submit.resources, 'metadata', submit.metadata, 'spec', submit.spec,
        'teamId', submit.team, 'createdBy', submit.created_by, 'dependsOn', submit.depends_on,
        'retry', submit.retry, 'dedupe', submit.dedupe), submit_keys(1, now_us), now_us);
    IF task.existing THEN
        task.tail := (submit_look(task.id)).tail;
    ELSE
        PERFORM submit_store(ARRAY[task], now_us);
    END IF;
    RETURN task_uuid(task.id, task.tail);
END $$;

-- Called from anywhere, they see this schema's tables and nobody's temporary ones; and what is
-- written in them means the same in every session.
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION submit SET search_path = %I, pg_temp', current_schema());
END $$;
ALTER FUNCTION submit SET standard_conforming_strings = on;
ALTER FUNCTION submit_many SET standard_conforming_strings = on;
ALTER FUNCTION emit SET standard_conforming_strings = on;
