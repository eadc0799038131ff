-- Views with jsonb and uuid columns, functions that read one task, steps that list themselves.
--
--   N1  A step that is applied by hand with psql has its row in schema_migrations, as one that the
--       engine applies: this step adds those of the steps before it and its own, and each later
--       step adds its own, in the same way as at the end of this file.
--   N2  A view that a view or function of another program uses is kept, under its name followed
--       by _0015, and with its columns. Everything else sees the new view.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm. The
-- views replace those of the steps before, so these can't be applied again.

DO $$
DECLARE
    step record;
BEGIN
    FOR step IN SELECT * FROM (VALUES
        ('task', '0001'), ('worker', '0002'), ('token', '0003'), ('log', '0004'),
        ('submit_key', '0005'), ('happened', '0006'), ('cron', '0007'), ('submit_grant', '0011'),
        ('id_slot', '0013'), ('lane_type', '0014'), ('set_aside', '0015')) AS s (relation, id)
    LOOP
        IF to_regclass(quote_ident(current_schema()) || '.' || step.relation) IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                MESSAGE = format('step %s was not applied in the schema %I', step.id,
                                 current_schema()),
                HINT = 'Apply the files in their order, after SET search_path to the schema.';
        END IF;
    END LOOP;
END $$;

-- The views before are kept until everything that depends on them is known (N2).
DO $$
DECLARE
    item text;
BEGIN
    FOREACH item IN ARRAY ARRAY['tasks', 'task_events', 'task_results', 'task_joins',
                                'workers'] LOOP
        IF EXISTS (SELECT 1 FROM pg_attribute a
                   WHERE a.attrelid = to_regclass(quote_ident(current_schema()) || '.' || item)
                     AND (a.atttypid = 'json'::regtype OR a.attname = 'join')) THEN
            EXECUTE format('ALTER VIEW %I RENAME TO %I', item, item || '_0015');
        END IF;
    END LOOP;
END $$;

-- JSON that jsonb can't hold, such as a number with an exponent of a million, is shown as a string.
CREATE OR REPLACE FUNCTION as_jsonb(value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT
AS $$
BEGIN
    RETURN value::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN to_jsonb(value);
END $$;

-- The id of an event: its time in milliseconds, a version of 8, the microseconds, and the key of
-- the task. Four bits are those of the length of its name, so that two events of a task at one
-- time have two ids. As in src/model/id.c.
CREATE OR REPLACE FUNCTION event_uuid(task bigint, at_us bigint, what text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (lpad(to_hex((at_us / 1000) & 281474976710655), 12, '0') ||
              to_hex(32768 | ((at_us % 1000) << 2) | (octet_length(what) & 3)) ||
              lpad(to_hex((-9223372036854775808) | ((octet_length(what)::bigint >> 2 & 3) << 60) |
                          (task & 1152921504606846975)), 16, '0'))::uuid $$;

-- The columns of both views are the same. `tasks` joins whole tables, which is best for many tasks;
-- `tasks_by_key` reads the tables of one task by their primary keys.
DO $$
DECLARE
    key_of_ready CONSTANT text := 'r.lane = t.lane AND r.rank = t.rank AND r.id = t.id';
    columns CONSTANT text := $columns$
           task_uuid(t.id, t.tail) AS id, l.namespace, l.type, coalesce(t.name, l.type) AS name,
           n.name AS status, coalesce(s.state, n.state) AS state,
           coalesce(s.progress, 0) AS progress, -t.rank AS priority, as_jsonb(t.input) AS input,
           as_jsonb(s.output) AS output, as_jsonb(s.error) AS error,
           coalesce(as_jsonb(coalesce(s.metadata, t.metadata)), '{}') AS metadata,
           as_jsonb(t.spec) AS spec, t.key AS idempotency_key, t.input_hash,
           coalesce(s.attempts, 0) AS attempts, t.max_attempts,
           us_to_time(coalesce(CASE WHEN s.status = 0 THEN s.at_us END, t.run_at_us)) AS run_at,
           CASE WHEN s.status IN (1, 2) THEN s.worker END AS worker_id,
           us_to_time(CASE WHEN s.status IN (1, 2) THEN s.at_us END) AS lease_expires_at,
           (SELECT task_uuid(p.id, p.tail) FROM task p WHERE p.id = t.parent) AS parent_id,
           as_jsonb(l.resources) AS resources, tm.id::uuid AS team_id, t.created_by,
           us_to_time(CASE WHEN s.status = 4 THEN s.at_us END) AS expires_at,
           coalesce(s.version, 1) AS version, coalesce(s.fence, 0) AS fence,
           us_to_time(t.created_us) AS created_at,
           us_to_time(coalesce(s.updated_us, t.created_us)) AS updated_at,
           us_to_time(s.claimed_us) AS claimed_at, us_to_time(s.started_us) AS started_at,
           us_to_time(s.completed_us) AS completed_at, us_to_time(s.deleted_us) AS deleted_at,
           (SELECT coalesce(jsonb_agg(n.uuid ORDER BY d.needs), '[]')
            FROM task_dep d CROSS JOIN LATERAL
                 (SELECT task_uuid(n.id, n.tail) AS uuid FROM task n
                  WHERE n.id = d.needs OFFSET 0 /* by the primary key */) n
            WHERE d.task = t.id) AS depends_on$columns$;
    other_tables CONSTANT text := $tables$
    JOIN lane l ON l.id = t.lane
    JOIN status_name n ON n.status = s.status
    LEFT JOIN team tm ON tm.id = t.team$tables$;
    event_columns CONSTANT text := $columns$
           event_uuid(x.task, x.at_us, x.what) AS id, task_uuid(t.id, t.tail) AS task_id, x.what,
           n.name AS status, coalesce(x.state, n.state) AS state, as_jsonb(x.detail) AS detail,
           CASE x.actor WHEN 0 THEN 'API' WHEN 1 THEN 'WORKER' ELSE 'SYSTEM' END AS actor,
           x.worker AS worker_id, us_to_time(x.at_us) AS created_at$columns$;
    -- Those of the table, and those that the rows of a task imply (0001).
    event_rows CONSTANT text := $rows$(
          SELECT task, at_us, what, status, actor, state, worker, detail FROM event
          UNION ALL
          SELECT c.id, c.created_us, 'created',
                 CASE WHEN s.flags & 16384 <> 0 THEN 3 ELSE 0 END::smallint, 0::smallint, 'Queued',
                 NULL,
                 json_strip_nulls(json_build_object('type', l.type, 'priority', -c.rank,
                                                    'maxAttempts', c.max_attempts,
                                                    'idempotencyKey', c.key))::text
          FROM task c %s JOIN lane l ON l.id = c.lane
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1::smallint, 1::smallint, NULL, worker, NULL
          FROM held WHERE flags & 16 <> 0
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1::smallint, 1::smallint, NULL, worker, NULL
          FROM ended WHERE flags & 16 <> 0
          UNION ALL
          SELECT id, started_us, 'started', 2::smallint, (worker IS NOT NULL)::int::smallint, NULL,
                 worker, NULL
          FROM held WHERE flags & 32 <> 0
          UNION ALL
          SELECT id, started_us, 'started', 2::smallint, (worker IS NOT NULL)::int::smallint, NULL,
                 worker, NULL
          FROM ended WHERE flags & 32 <> 0
          UNION ALL
          SELECT id, completed_us,
                 CASE status WHEN 5 THEN 'completed' WHEN 6 THEN 'failed'
                             WHEN 7 THEN 'dead_letter' ELSE 'cancelled' END,
                 status, ((flags >> 8) & 3)::smallint, state,
                 CASE WHEN status <> 8 THEN worker END, CASE WHEN status <> 8 THEN error END
          FROM ended) x
    JOIN task t ON t.id = x.task
    JOIN status_name n ON n.status = x.status$rows$;
BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW tasks AS SELECT' || columns ||
            ' FROM task t JOIN task_standing s ON s.id = t.id' || other_tables;
    EXECUTE 'CREATE OR REPLACE VIEW tasks_by_key AS SELECT t.id AS key,' || columns ||
            ' FROM task t CROSS JOIN LATERAL ('
            'SELECT 0::smallint AS status, run_at_us AS at_us, version, fence, attempts, progress, '
            'state, updated_us, claimed_us, started_us, NULL::bigint AS completed_us, '
            'NULL::bigint AS deleted_us, NULL::text AS worker, error, metadata, '
            'NULL::text AS output FROM ready r WHERE ' || key_of_ready ||
            ' UNION ALL '
            'SELECT status, lease_us, version, fence, attempts, progress, state, updated_us, '
            'claimed_us, started_us, NULL, NULL, worker, error, metadata, NULL '
            'FROM held h WHERE h.id = t.id '
            'UNION ALL '
            'SELECT status, at_us, version, fence, attempts, progress, state, updated_us, '
            'claimed_us, started_us, NULL, NULL, NULL, error, metadata, NULL '
            'FROM parked p WHERE p.id = t.id '
            'UNION ALL '
            'SELECT status, NULL, version, fence, attempts, progress, state, updated_us, '
            'claimed_us, started_us, completed_us, deleted_us, worker, error, metadata, output '
            'FROM ended e WHERE e.id = t.id) s' || other_tables;
    EXECUTE 'CREATE OR REPLACE VIEW task_events AS SELECT' || event_columns || ' FROM ' ||
            format(event_rows, 'JOIN task_standing s ON s.id = c.id');
    EXECUTE 'CREATE OR REPLACE VIEW task_events_by_key AS SELECT x.task AS key,' || event_columns ||
            ' FROM ' || format(event_rows,
            'CROSS JOIN LATERAL (SELECT flags FROM ready r WHERE ' ||
            replace(key_of_ready, 't.', 'c.') ||
            ' UNION ALL SELECT flags FROM held h WHERE h.id = c.id'
            ' UNION ALL SELECT flags FROM parked p WHERE p.id = c.id'
            ' UNION ALL SELECT flags FROM ended e WHERE e.id = c.id) s');
END $$;

CREATE OR REPLACE VIEW task_results AS
    SELECT task_uuid(t.id, t.tail) AS task_id, as_jsonb(e.output) AS payload,
           us_to_time(e.completed_us) AS created_at
    FROM ended e JOIN task t ON t.id = e.id
    WHERE e.output IS NOT NULL;

CREATE OR REPLACE VIEW task_joins AS
    SELECT namespace, workflow, name AS join_name, as_jsonb(key) AS key, round,
           as_jsonb(members) AS members, us_to_time(updated_us) AS updated_at,
           us_to_time(deadline_us) AS deadline, last_outcome, last_task::uuid AS last_task,
           last_error
    FROM join_state;

CREATE OR REPLACE VIEW workers AS
    SELECT w.id, w.hostname, us_to_time(w.started_us) AS started_at,
           us_to_time(w.last_heartbeat_us) AS last_heartbeat, w.pool_size,
           coalesce(as_jsonb(w.types), '[]') AS types, as_jsonb(w.services) AS services, w.version,
           l.until_us IS NOT NULL AS is_leader, us_to_time(l.until_us) AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w
    LEFT JOIN leader l
        ON l.until_us > clock_us()
       AND regexp_replace(l.holder, '-[^-]*$', '') = regexp_replace(w.id, '-[^-]*$', '');

-- One task ------------------------------------------------------------------------------------

-- Their bodies are bound to the views now, and PostgreSQL puts them into the caller's statement, so
-- EXPLAIN shows which indexes it reads.
CREATE OR REPLACE FUNCTION task(id uuid) RETURNS SETOF tasks
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT v.id, v.namespace, v.type, v.name, v.status, v.state, v.progress, v.priority, v.input,
           v.output, v.error, v.metadata, v.spec, v.idempotency_key, v.input_hash, v.attempts,
           v.max_attempts, v.run_at, v.worker_id, v.lease_expires_at, v.parent_id, v.resources,
           v.team_id, v.created_by, v.expires_at, v.version, v.fence, v.created_at, v.updated_at,
           v.claimed_at, v.started_at, v.completed_at, v.deleted_at, v.depends_on
    FROM tasks_by_key v
    WHERE v.key = task_key_of(task.id) AND v.id = task.id;
END;

-- Newest first.
CREATE OR REPLACE FUNCTION task_events(task_id uuid) RETURNS SETOF task_events
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT v.id, v.task_id, v.what, v.status, v.state, v.detail, v.actor, v.worker_id, v.created_at
    FROM task_events_by_key v
    WHERE v.key = task_key_of(task_events.task_id) AND v.task_id = task_events.task_id
    ORDER BY v.created_at DESC;
END;

-- Changing --------------------------------------------------------------------------------------

-- A task is more than a row, so an INSERT, UPDATE or DELETE on the view is refused with the
-- statement that does it.
CREATE OR REPLACE FUNCTION tasks_refuse() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'tasks is a view: a task is submitted with a function',
            HINT = format('SELECT %I.submit(%L%s%s%s); submits it, in this transaction.',
                          TG_TABLE_SCHEMA, coalesce(NEW.type, 'TYPE'),
                          ', ' || quote_literal(left(NEW.input::text, 200)),
                          ', priority => ' || nullif(NEW.priority, 0),
                          ', key => ' || quote_literal(NEW.idempotency_key));
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
        MESSAGE = 'tasks is a view: the engine changes tasks',
        HINT = CASE TG_OP WHEN 'DELETE' THEN format('faina rm %s removes it.', OLD.id)
               ELSE format('faina cancel, retry and complete change it: faina explain %s.', OLD.id)
               END;
END $$;
CREATE OR REPLACE TRIGGER tasks_refuse INSTEAD OF INSERT OR UPDATE OR DELETE ON tasks
FOR EACH ROW EXECUTE FUNCTION tasks_refuse();

-- Rights ----------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION read_views() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT ARRAY['tasks', 'task_events', 'task_results', 'task_deps', 'task_joins', 'resources',
                   'workers', 'tasks_by_key', 'task_events_by_key'] $$;

CREATE OR REPLACE FUNCTION read_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT ARRAY['task_uuid', 'us_to_time', 'clock_us', 'as_jsonb', 'event_uuid', 'task_key_of',
                   'task', 'task_events'] $$;

-- A role that could read a view can read it now, and the views and functions that belong to it. One
-- owner, also when a superuser applies this step (0011).
DO $$
DECLARE
    schema CONSTANT oid := quote_ident(current_schema())::regnamespace;
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    given record;
    item text;
BEGIN
    IF owner <> current_user THEN
        FOR item IN SELECT format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p
                    WHERE p.pronamespace = schema
                      AND p.proowner = quote_ident(current_user)::regrole
                    UNION ALL
                    SELECT format('VIEW %I', c.relname) FROM pg_class c
                    WHERE c.relnamespace = schema AND c.relkind = 'v'
                      AND c.relowner = quote_ident(current_user)::regrole LOOP
            EXECUTE format('ALTER %s OWNER TO %I', item, owner);
        END LOOP;
    END IF;
    EXECUTE format('ALTER FUNCTION tasks_refuse SET search_path = %I, pg_temp', current_schema());
    PERFORM revoke_public();
    FOR given IN
        SELECT DISTINCT c.relname AS before, regexp_replace(c.relname, '_0015$', '') AS view,
               r.rolname AS role, a.is_grantable
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = schema AND c.relkind = 'v' AND a.privilege_type = 'SELECT'
          AND a.grantee <> c.relowner
          AND regexp_replace(c.relname, '_0015$', '') = ANY (read_views())
    LOOP
        EXECUTE format('GRANT SELECT ON %I TO %I%s', given.view, given.role,
                       CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
        IF given.view IN ('tasks', 'task_events') THEN
            EXECUTE format('GRANT SELECT ON %I TO %I', given.view || '_by_key', given.role);
        END IF;
        FOREACH item IN ARRAY read_functions() LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO %I', item, given.role);
        END LOOP;
    END LOOP;
    FOREACH item IN ARRAY ARRAY['tasks', 'task_events', 'task_results', 'task_joins',
                                'workers'] LOOP
        BEGIN
            EXECUTE format('DROP VIEW IF EXISTS %I', item || '_0015');
        EXCEPTION WHEN dependent_objects_still_exist THEN
            RAISE NOTICE '%_0015 is kept, because a view or function uses it', item;
        END;
    END LOOP;
END $$;

-- The list of steps (N1) ----------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS schema_migrations (
    id          text PRIMARY KEY,
    description text NOT NULL,
    executed_at timestamptz NOT NULL
);

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0001_tables', 'Tables of the engine on PostgreSQL, and views for people.', now()),
    ('0002_workers', 'Workers that have registered, and a view of them for people.', now()),
    ('0003_tokens', 'Tokens of the HTTP interface: hashes only, never the tokens themselves.',
     now()),
    ('0004_log',
     'The log of what happened, in the order it was committed: for those who follow along.', now()),
    ('0005_submit',
     'Functions for SQL: submit and submit_many in one''s own transaction, drop_partitions.',
     now()),
    ('0006_workflows', 'Workflows: definitions, the events that happened, joins under way, and '
                       'where tasks come from.', now()),
    ('0007_crons', 'Schedules: tasks that are made again and again.', now()),
    ('0008_retention', 'Functions for retention: which day is wholly past its time, and dropping '
                       'it.', now()),
    ('0009_views', 'Views that show what a task depends on and who leads, and submits in SQL '
                   'refused as elsewhere.', now()),
    ('0010_created', 'The view of events tells what was asked for when a task was made.', now()),
    ('0011_rights', 'Rights: applications that submit in SQL can call three functions, and nothing '
                    'else.', now()),
    ('0012_worker_owner', 'A worker belongs to the namespaces of the token that registered it.',
     now()),
    ('0013_slots', 'Ranges of keys for new tasks, so that no two writers make the same one',
     now()),
    ('0014_lanes', 'Lanes without tasks are removed, and a namespace has a limited number of them.',
     now()),
    ('0015_set_aside', 'What the engine can''t handle, and leaves out until it is mended.', now()),
    ('0016_views', 'Views with jsonb and uuid columns, functions that read one task, steps that '
                   'list themselves.', now())
ON CONFLICT (id) DO NOTHING;
