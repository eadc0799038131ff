-- Fair share: groups of tasks take turns.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Null: none.
ALTER TABLE task ADD COLUMN IF NOT EXISTS fair_group text;
CREATE INDEX IF NOT EXISTS task_group ON task (fair_group, id) WHERE fair_group IS NOT NULL;

-- The order of claiming within a lane and rank, of tasks with a group; null: it is the id.
ALTER TABLE ready ADD COLUMN IF NOT EXISTS turn bigint;
CREATE INDEX IF NOT EXISTS ready_turn ON ready (lane, rank, turn, id) WHERE turn IS NOT NULL;

-- The turns that groups have got. The row with the name '' is about the lane and rank itself, and
-- locked while turns are assigned.
CREATE TABLE IF NOT EXISTS group_turn (
    lane  integer NOT NULL REFERENCES lane ON DELETE CASCADE,
    rank  integer NOT NULL,
    name  text NOT NULL,
    last  bigint NOT NULL, -- the last turn; in the row '' the greatest one
    phase bigint NOT NULL, -- in the row '': the place in the round of the next new group; else 0
    PRIMARY KEY (lane, rank, name)
);
CREATE INDEX IF NOT EXISTS group_turn_last ON group_turn (lane, rank, last);

DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_attribute a
                   WHERE a.attrelid = (SELECT t.typrelid FROM pg_type t
                                       WHERE t.oid = 'new_task'::regtype)
                     AND a.attname = 'fair_group' AND NOT a.attisdropped) THEN
        ALTER TYPE new_task ADD ATTRIBUTE fair_group text;
    END IF;
END $$;

-- The views of tasks are as in 0022, and have the group.
DO $$
DECLARE
    name text;
    body text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tasks', 'tasks_by_key'] LOOP
        body := pg_get_viewdef(name::regclass);
        IF body !~ '\mfair_group\M' THEN
            body := regexp_replace(body, '\mAS depends_on\M',
                                   'AS depends_on, t.fair_group AS task_group');
            IF body !~ '\mfair_group\M' THEN
                RAISE EXCEPTION 'the view % is not that of 0016', name;
            END IF;
            EXECUTE format('CREATE OR REPLACE VIEW %I AS %s', name, body);
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION task(id uuid) RETURNS SETOF tasks
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT v.id, v.namespace, v.type, v.name, v.status, v.state, v.progress, v.priority, v.input,
           v.output, v.error, v.metadata, v.spec, v.idempotency_key, v.input_hash, v.attempts,
           v.max_attempts, v.run_at, v.worker_id, v.lease_expires_at, v.parent_id, v.resources,
           v.team_id, v.created_by, v.expires_at, v.version, v.fence, v.created_at, v.updated_at,
           v.claimed_at, v.started_at, v.completed_at, v.deleted_at, v.depends_on, v.task_group
    FROM tasks_by_key v
    WHERE v.key = task_key_of(task.id) AND v.id = task.id;
END;

-- As in 0023, with the group.
CREATE OR REPLACE FUNCTION submit_plan(place text, body jsonb, key bigint, now_us bigint,
                                       allowed text[])
RETURNS new_task LANGUAGE plpgsql
AS $$
DECLARE
    task new_task;
    ns text;
    kind text;
    names text;
    field text;
    delay_ms bigint;
    attempts integer;
    on_duplicate text;
BEGIN
    IF jsonb_typeof(body) <> 'object' THEN
        PERFORM submit_refuse(place, 'task', 'must be a JSON object',
                              'Write it as {"type": "mail.send", "input": {}}.');
    END IF;
    SELECT k INTO field FROM jsonb_object_keys(body) AS k
    WHERE k NOT IN ('namespace', 'type', 'name', 'input', 'payload', 'metadata', 'spec',
                    'priority', 'maxAttempts', 'maxRetries', 'delay', 'runAt',
                    'idempotencyKey', 'dedupe', 'keyScope', 'onDuplicate', 'dependsOn',
                    'resources', 'group', 'retry', 'teamId', 'team_id', 'createdBy')
    LIMIT 1;
    IF FOUND THEN
        PERFORM submit_refuse(place, left(field, 40), 'is no field of a submit',
                              'The fields are listed in docs/postgres.md.');
    END IF;

    kind := submit_name(place, 'type', body -> 'type', 255);
    task.name := submit_name(place, 'name', body -> 'name', 255);
    IF jsonb_typeof(body -> 'payload') <> 'null' THEN
        IF jsonb_typeof(body -> 'input') <> 'null' THEN
            PERFORM submit_refuse(place, 'payload', 'and input are both set',
                                  'They are the same: give one of them.');
        END IF;
        body := jsonb_set(body, '{input}', body -> 'payload');
    END IF;
    task.input := submit_json(place, 'input', body -> 'input', 1048576);
    IF kind IS NULL AND task.name IS NULL AND task.input IS NULL THEN
        PERFORM submit_refuse(place, 'type', 'is missing', 'It says who handles the task.');
    END IF;
    kind := coalesce(kind, 'default'); -- a name or an input alone will do
    task.name := nullif(task.name, kind);
    ns := coalesce(submit_name(place, 'namespace', body -> 'namespace', 255), 'default');
    IF ns = '*' THEN
        PERFORM submit_refuse(place, 'namespace', 'is "*", which stands for all namespaces',
                              'Use another name.');
    END IF;
    PERFORM submit_check_namespace(place, allowed, ns);
    task.metadata := submit_json(place, 'metadata', body -> 'metadata', 65536);
    IF task.metadata IS NOT NULL AND jsonb_typeof(body -> 'metadata') <> 'object' THEN
        PERFORM submit_refuse(place, 'metadata', 'must be a JSON object',
                              'Write it as {"name": "value"}.');
    END IF;
    task.spec := submit_json(place, 'spec', body -> 'spec', 65536);
    IF task.spec IS NOT NULL AND jsonb_typeof(body -> 'spec') <> 'object' THEN
        PERFORM submit_refuse(place, 'spec', 'must be a JSON object',
                              'Write it as {"name": "value"}.');
    END IF;

    task.rank := -coalesce(submit_number(place, 'priority', body -> 'priority', -32768, 32767), 0);
    task.max_attempts := submit_number(place, 'maxAttempts', body -> 'maxAttempts', 0, 1000000);
    attempts := submit_number(place, 'maxRetries', body -> 'maxRetries', 0, 1000000);
    IF attempts IS NOT NULL AND task.max_attempts IS NOT NULL THEN
        PERFORM submit_refuse(place, 'maxRetries', 'and maxAttempts are both set',
                              'Give one of them; an attempt is a try, a retry is one more.');
    END IF;
    task.max_attempts := coalesce(task.max_attempts,
                                  CASE WHEN attempts < 1000000 THEN attempts + 1 ELSE attempts END,
                                  4);
    delay_ms := submit_duration(place, 'delay', body -> 'delay');
    task.run_at_us := submit_time(place, 'runAt', body -> 'runAt');
    IF delay_ms > 0 AND task.run_at_us IS NOT NULL THEN
        PERFORM submit_refuse(place, 'runAt', 'and delay are both set', 'Give one of them.');
    END IF;
    IF delay_ms > 0 THEN
        task.run_at_us := now_us + delay_ms * 1000;
    END IF;
    IF body ? 'retry' AND jsonb_typeof(body -> 'retry') <> 'null' THEN
        IF jsonb_typeof(body -> 'retry') <> 'object' OR
           (body -> 'retry') - ARRAY['base', 'factor', 'max'] <> '{}' THEN
            PERFORM submit_refuse(place, 'retry', 'must be an object of base, factor and max',
                                  'Write it as {"base": "1s", "factor": 2, "max": "1h"}.');
        END IF;
        task.retry_base_ms := nullif(submit_duration(place, 'retry.base',
                                                     body #> '{retry,base}'), 0);
        task.retry_max_ms := nullif(submit_duration(place, 'retry.max', body #> '{retry,max}'), 0);
        IF jsonb_typeof(body #> '{retry,factor}') NOT IN ('number', 'null') OR
           (body #>> '{retry,factor}')::numeric NOT BETWEEN 1 AND 1e300 AND
           (body #>> '{retry,factor}')::numeric <> 0 THEN
            PERFORM submit_refuse(place, 'retry.factor', 'must be a number from 1 on',
                                  'Leave it out for the default.');
        END IF;
        task.retry_factor := nullif((body #>> '{retry,factor}')::double precision, 0);
    END IF;

    task.key := submit_name(place, 'idempotencyKey', body -> 'idempotencyKey', 512);
    IF body ? 'dedupe' AND jsonb_typeof(body -> 'dedupe') <> 'null' THEN
        PERFORM submit_refuse(place, 'dedupe', 'is not offered in SQL',
                              'Give a key that you make from the input, or submit through faina.');
    END IF;
    task.key_scope := submit_key_scope(place, body -> 'keyScope');
    on_duplicate := coalesce(submit_name(place, 'onDuplicate', body -> 'onDuplicate', 255),
                             'return');
    IF on_duplicate = 'replace' THEN
        PERFORM submit_refuse(place, 'onDuplicate', 'replace is not offered in SQL',
                              'It would lock the task until your commit; submit through faina.');
    ELSIF on_duplicate NOT IN ('return', 'reject') THEN
        PERFORM submit_refuse(place, 'onDuplicate', format('is %s', left(on_duplicate, 44)),
                              'It is return or reject.');
    END IF;
    IF task.key IS NULL AND (task.key_scope IS NOT NULL OR on_duplicate <> 'return') THEN
        PERFORM submit_refuse(place, CASE WHEN task.key_scope IS NULL THEN 'onDuplicate'
                                          ELSE 'keyScope' END, 'is about a key, and there is none',
                              'Give a key.');
    END IF;
    names := submit_resources(place, body -> 'resources');
    task.fair_group := submit_name(place, 'group', body -> 'group', 255);
    IF task.fair_group IS NOT NULL THEN
        names := ' ' || names; -- tasks with groups are in lanes of their own
    END IF;
    task.team := submit_name(place, 'teamId', coalesce(body -> 'teamId', body -> 'team_id'), 64);
    task.team := lower(task.team);
    IF task.team IS NOT NULL AND
       task.team !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        PERFORM submit_refuse(place, 'teamId', 'is not an id', 'An id is a UUID.');
    END IF;
    task.created_by := submit_name(place, 'createdBy', body -> 'createdBy', 255);

    task.id := key;
    task.existing := false;
    IF task.key IS NOT NULL THEN
        task := submit_take_key(place, ns, kind, on_duplicate, now_us, task);
        IF task.existing THEN
            RETURN task;
        END IF;
    END IF;
    task.status := 0;
    task.flags := 0;
    task.deps_left := 0;
    task.deps_bad := 0;
    task := submit_needs(place, body -> 'dependsOn', allowed, task);
    IF task.team IS NOT NULL AND
       NOT EXISTS (SELECT 1 FROM team m WHERE m.id = task.team AND m.namespace = ns) THEN
        PERFORM submit_refuse(place, 'teamId', format('%s is not a team of namespace %s',
                                                      task.team, left(ns, 100)),
                              'faina team ls shows them.');
    END IF;
    task.lane := submit_lane(ns, kind, names);
    task.tail := ('x' || encode(substr(uuid_send(gen_random_uuid()), 9), 'hex'))::bit(64)::bigint
                 & 4611686018427387903;
    -- A blocked one is for the leader to look at, as soon as it is there. So is one with a group:
    -- its turn is assigned under a lock, which must not be held until the caller commits.
    task.at_us := CASE WHEN task.status = 3 THEN now_us
                       WHEN task.run_at_us > now_us THEN task.run_at_us
                       WHEN task.fair_group IS NOT NULL THEN now_us END;
    RETURN task;
END $$;

-- As in 0023, with the group.
CREATE OR REPLACE FUNCTION submit_store(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    parked_count bigint;
    due_us bigint;
    stored bigint;
BEGIN
    INSERT INTO task (id, tail, created_us, lane, rank, max_attempts, run_at_us, retry_base_ms,
                      retry_max_ms, retry_factor, input, name, metadata, spec, key, team,
                      created_by, key_scope, fair_group)
    SELECT n.id, n.tail, now_us, n.lane, n.rank, n.max_attempts, n.run_at_us, n.retry_base_ms,
           n.retry_max_ms, n.retry_factor, n.input, n.name, n.metadata, n.spec, n.key, n.team,
           n.created_by, n.key_scope, n.fair_group
    FROM unnest(tasks) AS n WHERE NOT n.existing;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored = 0 THEN
        RETURN;
    END IF;

    -- A row in line is all nulls when the task has nothing that a claim must look at.
    INSERT INTO ready (lane, rank, id, version, fence, attempts, flags, progress, updated_us)
    SELECT n.lane, n.rank, n.id, 1 * m.more, 0 * m.more, 0 * m.more, n.flags * m.more, 0 * m.more,
           now_us * m.more
    FROM unnest(tasks) AS n
    CROSS JOIN LATERAL (
        SELECT CASE WHEN n.flags <> 0 OR coalesce(n.metadata, n.spec, n.team, n.created_by)
                         IS NOT NULL OR
                         coalesce(n.run_at_us, n.retry_base_ms, n.retry_max_ms, n.key_scope)
                         IS NOT NULL OR n.retry_factor IS NOT NULL THEN 1 END AS more) AS m
    WHERE NOT n.existing AND n.at_us IS NULL;
    GET DIAGNOSTICS parked_count = ROW_COUNT;
    parked_count := stored - parked_count;
    IF parked_count < stored THEN
        PERFORM submit_announce(tasks, now_us);
        PERFORM pg_notify('task_available', current_schema());
    END IF;

    IF parked_count > 0 THEN
        INSERT INTO parked (id, at_us, version, fence, attempts, flags, deps_left, deps_bad,
                            updated_us, lane, progress, status)
        SELECT n.id, n.at_us, 1, 0, 0, n.flags, n.deps_left, n.deps_bad, now_us, n.lane, 0,
               n.status
        FROM unnest(tasks) AS n WHERE NOT n.existing AND n.at_us IS NOT NULL;
        SELECT min(n.at_us) INTO due_us FROM unnest(tasks) AS n WHERE NOT n.existing;
        PERFORM pg_notify('task_due', format('%s %s', current_schema(), due_us));
    END IF;
    INSERT INTO task_dep (task, needs)
    SELECT n.id, need FROM unnest(tasks) AS n, unnest(n.needs) AS need WHERE NOT n.existing;

    INSERT INTO tally (lane, status, shard, n)
    SELECT n.lane, n.status, min(min(n.id)) OVER (), count(*)
    FROM unnest(tasks) AS n WHERE NOT n.existing
    GROUP BY n.lane, n.status;

    -- The lines that src/store/txn/unit.c writes: task, time, status, what.
    INSERT INTO log (at_us, events)
    SELECT now_us, string_agg(format('%s %s %s created', to_hex(n.id), to_hex(now_us), n.status),
                              E'\n' ORDER BY n.id) || E'\n'
    FROM unnest(tasks) AS n WHERE NOT n.existing
    HAVING count(*) > 0;
END $$;

-- As in 0023, with one more parameter, and the roles that may call it.
DO $$
DECLARE
    old CONSTANT regprocedure := to_regprocedure(format(
        '%I.submit(text, jsonb, text, text, integer, interval, timestamptz, text, integer, text[], '
        'jsonb, jsonb, uuid, text, uuid[], jsonb, text, text, text)', current_schema()));
BEGIN
    PERFORM set_config('faina.submit_callers', '[]', false);
    IF old IS NOT NULL THEN
        PERFORM set_config('faina.submit_callers', coalesce(jsonb_agg(r.rolname), '[]')::text,
                           false)
        FROM pg_proc p CROSS JOIN aclexplode(p.proacl) AS a JOIN pg_roles r ON r.oid = a.grantee
        WHERE p.oid = old AND a.grantee <> p.proowner;
        EXECUTE format('DROP FUNCTION %s', old);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION submit(
    type text, input jsonb DEFAULT NULL, namespace text DEFAULT NULL, name text DEFAULT NULL,
    priority integer DEFAULT NULL, delay interval DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    key text DEFAULT NULL, max_attempts integer DEFAULT NULL, resources text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL, spec jsonb DEFAULT NULL, team uuid DEFAULT NULL,
    created_by text DEFAULT NULL, depends_on uuid[] DEFAULT NULL, retry jsonb DEFAULT NULL,
    dedupe text DEFAULT NULL, key_scope text DEFAULT NULL, on_duplicate text DEFAULT NULL,
    task_group text DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET standard_conforming_strings = on
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
        'retry', submit.retry, 'dedupe', submit.dedupe, 'keyScope', submit.key_scope,
        'onDuplicate', submit.on_duplicate, 'group', submit.task_group),
        submit_keys(1, now_us), now_us, submit_allowed());
    IF task.existing THEN
        task.tail := (submit_look(task.id)).tail;
    ELSE
        PERFORM submit_store(ARRAY[task], now_us);
    END IF;
    RETURN task_uuid(task.id, task.tail);
END $$;

DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    item text;
BEGIN
    EXECUTE format('ALTER FUNCTION submit SET search_path = %I, pg_temp', current_schema());
    FOR item IN SELECT jsonb_array_elements_text(current_setting('faina.submit_callers')::jsonb)
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION submit TO %I', item);
    END LOOP;
    IF owner <> current_user THEN
        FOREACH item IN ARRAY ARRAY['submit_plan', 'submit_store', 'submit', 'task'] LOOP
            EXECUTE format('ALTER FUNCTION %I OWNER TO %I', item, owner);
        END LOOP;
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0032_groups', 'Fair share: groups of tasks take turns.', now())
ON CONFLICT (id) DO NOTHING;
