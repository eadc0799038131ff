-- Submits in SQL: timeout and startBy, and a retry without a delay.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

DO $$
DECLARE
    field text;
BEGIN
    FOREACH field IN ARRAY ARRAY['timeout_ms', 'start_by_us'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_attribute a
                       WHERE a.attrelid = (SELECT t.typrelid FROM pg_type t
                                           WHERE t.oid = 'new_task'::regtype)
                         AND a.attname = field AND NOT a.attisdropped) THEN
            EXECUTE format('ALTER TYPE new_task ADD ATTRIBUTE %I bigint', field);
        END IF;
    END LOOP;
END $$;

-- As in 0023, with startBy.
CREATE OR REPLACE FUNCTION submit_refuse(place text, field text, sentence text, hint text)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    shown text := CASE WHEN place <> '' THEN field
                       ELSE CASE field WHEN 'idempotencyKey' THEN 'key' WHEN 'runAt' THEN 'run_at'
                            WHEN 'maxAttempts' THEN 'max_attempts' WHEN 'teamId' THEN 'team'
                            WHEN 'createdBy' THEN 'created_by' WHEN 'dependsOn' THEN 'depends_on'
                            WHEN 'keyScope' THEN 'key_scope' WHEN 'onDuplicate' THEN 'on_duplicate'
                            WHEN 'startBy' THEN 'start_by' ELSE field END END;
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', COLUMN = shown, HINT = hint,
        MESSAGE = format('%s%s %s', place, shown, sentence);
END $$;

-- A time, or a duration from now.
CREATE OR REPLACE FUNCTION submit_start_by(place text, value jsonb, now_us bigint)
RETURNS bigint LANGUAGE plpgsql
AS $$
BEGIN
    IF value #>> '{}' ~ '^[0-9]{4,}-' THEN
        RETURN submit_time(place, 'startBy', value);
    END IF;
    RETURN now_us + submit_duration(place, 'startBy', value) * 1000;
END $$;

CREATE OR REPLACE FUNCTION submit_check_time(field text, value timestamptz)
RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT isfinite(value) THEN
        PERFORM submit_refuse('', field, 'must be in the years 1970 to 9999', 'Give a time.');
    END IF;
END $$;

-- Before it is added to anything.
CREATE OR REPLACE FUNCTION submit_check_interval(field text, value interval)
RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    IF value > interval '36600 days' THEN
        PERFORM submit_refuse('', field, 'is longer than 100 years', 'Use a shorter one.');
    END IF;
    IF value < interval '-36600 days' THEN
        PERFORM submit_refuse('', field, 'must not be negative', 'Leave it out for now.');
    END IF;
END $$;

-- As in 0033, with what submit_plan_own doesn't know.
CREATE OR REPLACE FUNCTION submit_plan(place text, body jsonb, key bigint, now_us bigint,
                                       allowed text[])
RETURNS new_task LANGUAGE plpgsql
AS $$
DECLARE
    policy type_policy;
    task new_task;
    timeout_ms bigint;
    start_by_us bigint;
    field text;
BEGIN
    IF jsonb_typeof(body) = 'object' THEN
        SELECT * INTO policy FROM type_policy p
        WHERE p.namespace = coalesce(body ->> 'namespace', 'default')
          AND p.folded = lower(coalesce(body ->> 'type', 'default') COLLATE "C");
        IF policy.priority IS NOT NULL AND coalesce(body -> 'priority', 'null') = 'null' THEN
            body := body || jsonb_build_object('priority', policy.priority);
        END IF;
        IF policy.resources IS NOT NULL AND coalesce(body -> 'resources', 'null') = 'null' THEN
            body := body || jsonb_build_object('resources', policy.resources::jsonb);
        END IF;
        timeout_ms := nullif(submit_duration(place, 'timeout', body -> 'timeout'), 0);
        start_by_us := coalesce(submit_start_by(place, body -> 'startBy', now_us),
                                now_us + policy.start_by_ms * 1000);
        body := body - ARRAY['timeout', 'startBy'];
        IF jsonb_typeof(body -> 'retry') = 'object' THEN
            FOREACH field IN ARRAY ARRAY['base', 'max'] LOOP
                IF submit_duration(place, 'retry.' || field, body #> ARRAY['retry', field]) = 0 THEN
                    body := jsonb_set(body, ARRAY['retry', field], '"1ms"'); -- 0 is the default
                END IF;
            END LOOP;
        END IF;
    END IF;
    task := submit_plan_own(place, body, key, now_us, allowed);
    IF NOT task.existing THEN
        task.timeout_ms := timeout_ms;
        task.start_by_us := start_by_us;
        -- FA_FLAG_OWN_ATTEMPTS of src/store/txn/row.h: the default, but given.
        IF task.max_attempts = 4 AND (coalesce(body -> 'maxAttempts', 'null') <> 'null' OR
                                      coalesce(body -> 'maxRetries', 'null') <> 'null') THEN
            task.flags := task.flags | 1::bigint << 61;
        END IF;
        IF policy.input_schema IS NOT NULL THEN
            PERFORM submit_check_input(place, policy.input_schema::jsonb,
                                       policy.input_schema::jsonb,
                                       coalesce(task.input::jsonb, 'null'), 'input');
        END IF;
    END IF;
    RETURN task;
END $$;

-- As submit_store in 0032, with the new columns.
CREATE OR REPLACE FUNCTION submit_store_own(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    parked_count bigint;
    due_us bigint;
    stored bigint;
BEGIN
    INSERT INTO task (id, tail, created_us, lane, rank, max_attempts, run_at_us, retry_base_ms,
                      retry_max_ms, retry_factor, input, name, metadata, spec, key, team,
                      created_by, key_scope, fair_group, timeout_ms, start_by_us)
    SELECT n.id, n.tail, now_us, n.lane, n.rank, n.max_attempts, n.run_at_us, n.retry_base_ms,
           n.retry_max_ms, n.retry_factor, n.input, n.name, n.metadata, n.spec, n.key, n.team,
           n.created_by, n.key_scope, n.fair_group, n.timeout_ms, n.start_by_us
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
                         coalesce(n.run_at_us, n.retry_base_ms, n.retry_max_ms, n.key_scope,
                                  n.timeout_ms, n.start_by_us) IS NOT NULL OR
                         n.retry_factor IS NOT NULL THEN 1 END AS more) AS m
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

-- Then sets the timers of startBy.
CREATE OR REPLACE FUNCTION submit_store(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    due_us bigint;
BEGIN
    PERFORM submit_store_own(tasks, now_us);
    WITH timed AS (
        INSERT INTO timer (at_us, task, kind)
        SELECT n.start_by_us, n.id, 0 FROM unnest(tasks) AS n
        WHERE NOT n.existing AND n.start_by_us IS NOT NULL
        RETURNING at_us
    )
    SELECT min(at_us) INTO due_us FROM timed;
    IF due_us IS NOT NULL THEN
        PERFORM pg_notify('task_due', format('%s %s', current_schema(), due_us));
    END IF;
END $$;

-- As in 0032, with two more parameters, and the roles that may call it.
DO $$
DECLARE
    old CONSTANT regprocedure := to_regprocedure(format(
        '%I.submit(text, jsonb, text, text, integer, interval, timestamptz, text, integer, text[], '
        'jsonb, jsonb, uuid, text, uuid[], jsonb, text, text, text, text)', current_schema()));
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
    task_group text DEFAULT NULL, timeout interval DEFAULT NULL,
    start_by timestamptz DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET standard_conforming_strings = on
AS $$
DECLARE
    now timestamptz := clock_timestamp();
    now_us bigint := (extract(epoch FROM now) * 1000000)::bigint;
    task new_task;
BEGIN
    PERFORM submit_check_time('runAt', submit.run_at);
    PERFORM submit_check_time('startBy', submit.start_by);
    PERFORM submit_check_interval('delay', submit.delay);
    PERFORM submit_check_interval('timeout', submit.timeout);
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
        'onDuplicate', submit.on_duplicate, 'group', submit.task_group,
        'timeout', extract(epoch FROM (now + submit.timeout) - now),
        'startBy', to_char(submit.start_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
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
        FOREACH item IN ARRAY ARRAY['submit_refuse', 'submit_start_by', 'submit_check_time',
                                    'submit_check_interval', 'submit_plan', 'submit_store_own',
                                    'submit_store', 'submit'] LOOP
            EXECUTE format('ALTER FUNCTION %I OWNER TO %I', item, owner);
        END LOOP;
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0034_sql_times',
     'Submits in SQL: timeout and startBy, and a retry without a delay.', now())
ON CONFLICT (id) DO NOTHING;
