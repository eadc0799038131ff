-- Rights: applications that submit in SQL can call three functions, and nothing else.
--
--   R1  submit, submit_many and emit run with the rights of their owner (SECURITY DEFINER) and a
--       search_path of their own. A role that calls them needs EXECUTE, and no right on any table,
--       sequence, view, type or other function of the schema.
--   R2  A role submits to the namespaces that grant_submit has stored for it. A task of another
--       namespace can't be named in depends_on; the answer is the same as for one that doesn't
--       exist.
--   R3  PUBLIC has no right on any function or type of the schema. PostgreSQL gives PUBLIC the
--       right to execute each new function and to use each new type, and this can't be changed
--       for one schema. So a later step that makes a function or a type ends with SELECT
--       revoke_public(), and CREATE OR REPLACE FUNCTION repeats SECURITY DEFINER and search_path.
--   R4  Locks are such that a role without rights on the schema's tables can't hold them: not an
--       advisory lock, whose key can be computed, but a lock on an empty table. Its mode is SHARE
--       UPDATE EXCLUSIVE, because PREPARE takes the weaker ones without a check of rights.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Which namespaces a role may submit to; '*' is all of them. By name: it survives pg_dump.
CREATE TABLE IF NOT EXISTS submit_grant (
    role      text NOT NULL,
    namespace text NOT NULL,
    PRIMARY KEY (role, namespace)
);

-- Empty tables to lock: while submit hands out keys, and while partitions are made or dropped.
CREATE TABLE IF NOT EXISTS submit_lock ();
CREATE TABLE IF NOT EXISTS partition_lock ();

-- Checks ----------------------------------------------------------------------------------------

-- The namespaces that the caller may submit to; '*' is all of them. The caller is the role of the
-- session, or the one that SET ROLE has chosen: neither can be set without a right to it. Inside
-- of a SECURITY DEFINER function current_user is the owner of the function.
CREATE OR REPLACE FUNCTION submit_allowed() RETURNS text[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    caller CONSTANT name := CASE current_setting('role') WHEN 'none' THEN session_user
                                 ELSE current_setting('role')::name END;
    allowed text[];
BEGIN
    IF pg_has_role(caller, current_user, 'USAGE') THEN
        RETURN ARRAY['*'];
    END IF;
    SELECT array_agg(g.namespace) INTO allowed
    FROM submit_grant g JOIN pg_roles r ON r.rolname = g.role
    WHERE pg_has_role(caller, r.oid, 'USAGE');
    RETURN coalesce(allowed, '{}');
END $$;

CREATE OR REPLACE FUNCTION submit_may(allowed text[], ns text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$ SELECT coalesce(ns = ANY (allowed) OR '*' = ANY (allowed), false) $$;

CREATE OR REPLACE FUNCTION submit_check_namespace(place text, allowed text[], ns text)
RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT submit_may(allowed, ns) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', COLUMN = 'namespace',
            MESSAGE = format('%snamespace %s is not among those that this role may submit to',
                             place, left(ns, 100)),
            HINT = format('The owner of the schema gives the right: SELECT %I.grant_submit(ROLE, '
                          'NAMESPACES).', current_schema());
    END IF;
END $$;

-- Submitting ------------------------------------------------------------------------------------

-- As in 0005. The lock is taken in a subtransaction that is rolled back on purpose: that releases
-- it at once, and after an error or a cancel as well, while setval and the variables keep their
-- values. Keys may run ahead of the clock, which has room for 64 in a millisecond; an hour ahead,
-- the clock was set back.
CREATE OR REPLACE FUNCTION submit_keys(count integer, now_us bigint)
RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
    at_clock CONSTANT bigint :=
        (((now_us / 1000) << 12) + (((now_us % 1000) << 12) + 999) / 1000) | 63;
    first bigint;
BEGIN
    BEGIN
        LOCK TABLE submit_lock IN SHARE UPDATE EXCLUSIVE MODE;
        first := coalesce(pg_sequence_last_value('submit_key'), 0) + 64;
        IF first < at_clock OR first > at_clock + (3600000::bigint << 12) THEN
            first := at_clock;
        END IF;
        PERFORM setval('submit_key', first + 64 * (count - 1));
        RAISE SQLSTATE 'FA001' USING MESSAGE = 'the lock is released';
    EXCEPTION WHEN SQLSTATE 'FA001' THEN
        NULL;
    END;
    RETURN first;
END $$;

-- As submit_look in 0005, with the task's namespace.
CREATE OR REPLACE FUNCTION submit_find(wanted bigint, OUT tail bigint, OUT status smallint,
                                       OUT ns text)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    SELECT t.tail, l.namespace INTO submit_find.tail, submit_find.ns
    FROM task t JOIN lane l ON l.id = t.lane WHERE t.id = wanted;
    SELECT s.status INTO submit_find.status FROM task_standing s
    WHERE s.id = wanted AND s.deleted_us IS NULL;
END $$;

-- As in 0005, but a task of a namespace that is not allowed doesn't exist.
DROP FUNCTION IF EXISTS submit_needs(text, jsonb, new_task);
CREATE OR REPLACE FUNCTION submit_needs(place text, value jsonb, allowed text[],
                                        INOUT task new_task)
LANGUAGE plpgsql
AS $$
DECLARE
    item text;
    wanted bigint;
    found record;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN;
    END IF;
    IF jsonb_typeof(value) <> 'array' THEN
        PERFORM submit_refuse(place, 'dependsOn', 'must be an array of task ids',
                              'Name tasks that are there already.');
    END IF;
    IF jsonb_array_length(value) > 1000 THEN
        PERFORM submit_refuse(place, 'dependsOn', format('has %s items; the limit is 1000',
                                                         jsonb_array_length(value)),
                              'Gather them behind a task of their own.');
    END IF;
    FOR item IN SELECT e FROM jsonb_array_elements_text(value) AS e LOOP
        IF submit_is_id(item) IS NOT TRUE THEN
            PERFORM submit_refuse(place, 'dependsOn', format('names something that is no id: %s',
                                                             left(item, 44)),
                                  'An id is a UUIDv7, as submit returns it.');
        END IF;
        wanted := task_key_of(item::uuid);
        CONTINUE WHEN wanted = ANY (task.needs);
        found := submit_find(wanted);
        IF found.status IS NULL OR task_uuid(wanted, found.tail) <> item::uuid OR
           NOT submit_may(allowed, found.ns) THEN
            PERFORM submit_refuse(place, 'dependsOn',
                                  format('names a task that does not exist: %s', item),
                                  'Name tasks that are there already.');
        END IF;
        task.needs := coalesce(task.needs, '{}') || wanted;
        task.deps_left := task.deps_left + (found.status < 5)::integer;
        task.deps_bad := task.deps_bad + (found.status > 5)::integer;
    END LOOP;
    IF task.needs IS NULL THEN
        RETURN;
    END IF;
    task.flags := 4096; -- FA_FLAG_HAS_DEPS
    IF task.deps_left > 0 THEN
        task.status := 3;
        task.flags := task.flags | 16384; -- FA_FLAG_BORN_BLOCKED
    ELSIF task.deps_bad > 0 THEN
        task.flags := task.flags | 2; -- FAINA_PHASE_ERROR
    END IF;
END $$;

-- As in 0005, for the namespaces that are allowed.
DROP FUNCTION IF EXISTS submit_plan(text, jsonb, bigint, bigint);
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
BEGIN
    IF jsonb_typeof(body) <> 'object' THEN
        PERFORM submit_refuse(place, 'task', 'must be a JSON object',
                              'Write it as {"type": "mail.send", "input": {}}.');
    END IF;
    SELECT k INTO field FROM jsonb_object_keys(body) AS k
    WHERE k NOT IN ('namespace', 'type', 'name', 'input', 'metadata', 'spec', 'priority',
                    'maxAttempts', 'maxRetries', 'delay', 'runAt', 'idempotencyKey', 'dedupe',
                    'dependsOn', 'resources', 'retry', 'teamId', 'team_id', 'createdBy')
    LIMIT 1;
    IF FOUND THEN
        PERFORM submit_refuse(place, left(field, 40), 'is no field of a submit',
                              'The fields are listed in docs/postgres.md.');
    END IF;

    kind := submit_name(place, 'type', body -> 'type', 255);
    task.name := submit_name(place, 'name', body -> 'name', 255);
    IF kind IS NULL AND task.name IS NULL THEN
        PERFORM submit_refuse(place, 'type', 'is missing', 'It says who handles the task.');
    END IF;
    kind := coalesce(kind, 'default'); -- a name alone will do
    task.name := nullif(task.name, kind);
    ns := coalesce(submit_name(place, 'namespace', body -> 'namespace', 255), 'default');
    IF ns = '*' THEN
        PERFORM submit_refuse(place, 'namespace', 'is "*", which stands for all namespaces',
                              'Use another name.');
    END IF;
    PERFORM submit_check_namespace(place, allowed, ns);
    task.input := submit_json(place, 'input', body -> 'input', 1048576);
    task.metadata := submit_json(place, 'metadata', body -> 'metadata', 65536);
    IF task.metadata IS NOT NULL AND jsonb_typeof(body -> 'metadata') <> 'object' THEN
        PERFORM submit_refuse(place, 'metadata', 'must be a JSON object',
                              'Write it as {"name": "value"}.');
    END IF;
    task.spec := submit_json(place, 'spec', body -> 'spec', 65536);

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
    names := submit_resources(place, body -> 'resources');
    task.team := submit_name(place, 'teamId', coalesce(body -> 'teamId', body -> 'team_id'), 64);
    IF task.team IS NOT NULL AND submit_is_id(task.team) IS NOT TRUE THEN
        PERFORM submit_refuse(place, 'teamId', 'is not an id', 'An id is a UUIDv7.');
    END IF;
    task.created_by := submit_name(place, 'createdBy', body -> 'createdBy', 255);

    task.id := key;
    task.existing := false;
    IF task.key IS NOT NULL THEN
        task := submit_take_key(ns, kind, task);
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
    -- A blocked one is for the leader to look at, as soon as it is there.
    task.at_us := CASE WHEN task.status = 3 THEN now_us
                       WHEN task.run_at_us > now_us THEN task.run_at_us END;
    RETURN task;
END $$;

-- As in 0009, with the rights of the owner.
CREATE OR REPLACE FUNCTION submit(
    type text, input jsonb DEFAULT NULL, namespace text DEFAULT NULL, name text DEFAULT NULL,
    priority integer DEFAULT NULL, delay interval DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    key text DEFAULT NULL, max_attempts integer DEFAULT NULL, resources text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL, spec jsonb DEFAULT NULL, team uuid DEFAULT NULL,
    created_by text DEFAULT NULL, depends_on uuid[] DEFAULT NULL, retry jsonb DEFAULT NULL,
    dedupe text DEFAULT NULL)
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
        'retry', submit.retry, 'dedupe', submit.dedupe), submit_keys(1, now_us), now_us,
        submit_allowed());
    IF task.existing THEN
        task.tail := (submit_look(task.id)).tail;
    ELSE
        PERFORM submit_store(ARRAY[task], now_us);
    END IF;
    RETURN task_uuid(task.id, task.tail);
END $$;

-- As in 0005, with the rights of the owner.
CREATE OR REPLACE FUNCTION submit_many(tasks jsonb)
RETURNS TABLE (ordinal integer, id uuid, existing boolean)
LANGUAGE plpgsql SECURITY DEFINER SET standard_conforming_strings = on
AS $$
DECLARE
    now_us CONSTANT bigint := clock_us();
    allowed CONSTANT text[] := submit_allowed();
    made new_task[] := '{}';
    task new_task;
    first bigint;
    body jsonb;
    n integer := 0;
BEGIN
    IF jsonb_typeof(tasks) IS DISTINCT FROM 'array' THEN
        PERFORM submit_refuse('', 'tasks', 'must be an array', 'Write it as [{"type": "a"}].');
    END IF;
    IF jsonb_array_length(tasks) > 10000 THEN
        PERFORM submit_refuse('', 'tasks', format('has %s items; the limit is 10000',
                                                  jsonb_array_length(tasks)),
                              'Submit them in several calls of one transaction.');
    END IF;
    IF jsonb_array_length(tasks) = 0 THEN
        RETURN;
    END IF;
    first := submit_keys(jsonb_array_length(tasks), now_us);
    FOR body IN SELECT e FROM jsonb_array_elements(tasks) AS e LOOP
        task := submit_plan(format('tasks[%s]: ', n), body, first + 64 * n, now_us,
                            allowed);
        IF task.existing AND task.id >= first AND task.id < first + 64 * n AND
           task.id & 63 = 63 THEN -- one of this list, not stored yet
            task.tail := made[(task.id - first) / 64 + 1].tail;
        ELSIF task.existing THEN
            task.tail := (submit_look(task.id)).tail;
        END IF;
        made := made || task;
        n := n + 1;
    END LOOP;
    PERFORM submit_store(made, now_us);
    RETURN QUERY SELECT m.n::integer, task_uuid(m.id, m.tail), m.existing
    FROM unnest(made) WITH ORDINALITY
         AS m (id, tail, existing, lane, rank, max_attempts, run_at_us, retry_base_ms, retry_max_ms,
               retry_factor, input, name, metadata, spec, key, team, created_by, status, flags,
               at_us, needs, deps_left, deps_bad, n);
END $$;

-- As in 0006, with the rights of the owner, for the namespaces that are allowed.
CREATE OR REPLACE FUNCTION emit(type text, data jsonb DEFAULT '{}', id text DEFAULT NULL,
                                namespace text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET standard_conforming_strings = on
AS $$
DECLARE
    now_us bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    kind text := submit_name('', 'type', to_jsonb(type), 255);
    ns text := coalesce(submit_name('', 'namespace', to_jsonb(namespace), 255), 'default');
    known text := coalesce(submit_name('', 'id', to_jsonb(id), 512), gen_random_uuid()::text);
    body text := coalesce(submit_json('', 'data', data, 1048576), '{}');
BEGIN
    IF kind IS NULL THEN
        PERFORM submit_refuse('', 'type', 'is missing', 'Say what has happened.');
    END IF;
    IF starts_with(kind, 'task.') THEN
        PERFORM submit_refuse('', 'type', 'begins with "task."', 'These are the engine''s own.');
    END IF;
    IF ns = '*' THEN
        PERFORM submit_refuse('', 'namespace', 'is "*"', 'An event happens in one namespace.');
    END IF;
    PERFORM submit_check_namespace('', submit_allowed(), ns);
    IF jsonb_typeof(coalesce(data, '{}')) <> 'object' THEN
        PERFORM submit_refuse('', 'data', 'must be a JSON object', 'Such as {"hash": "f00"}.');
    END IF;
    INSERT INTO happened_inbox (at_us, namespace, id, type, data)
    VALUES (now_us, ns, known, kind, body);
    PERFORM pg_notify('task_due', format('%s %s', current_schema(), now_us));
    RETURN known;
END $$;

-- Partitions ------------------------------------------------------------------------------------

-- As in 0001, with a lock on a table, and no right to the type of the partition's rows for PUBLIC.
CREATE OR REPLACE FUNCTION make_partitions(days integer DEFAULT 7) RETURNS integer
LANGUAGE plpgsql SET lock_timeout = '200ms'
AS $$
DECLARE
    made integer := 0;
    parent text;
    day date;
    part text;
    low bigint;
    high bigint;
    key text;
BEGIN
    FOR i IN 0..days LOOP
        day := (clock_timestamp() AT TIME ZONE 'UTC')::date + i;
        low := (extract(epoch FROM day) * 1000)::bigint << 12;
        high := (extract(epoch FROM day + 1) * 1000)::bigint << 12;
        FOREACH parent IN ARRAY ARRAY['task', 'ended', 'event'] LOOP
            part := parent || '_' || to_char(day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
            -- One at a time. A wait for a lock stops the queue, so it is short.
            LOCK TABLE partition_lock IN SHARE UPDATE EXCLUSIVE MODE;
            CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;
            key := CASE parent WHEN 'event' THEN 'task' ELSE 'id' END;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, parent);
            EXECUTE format('REVOKE USAGE ON TYPE %I FROM PUBLIC', part); -- R3
            IF parent <> 'event' THEN
                EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.2)',
                               part);
            END IF;
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
            EXECUTE format('WITH gone AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) '
                           'INSERT INTO %I SELECT * FROM gone',
                           parent || '_default', key, key, part) USING low, high;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                           parent, part, low, high);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

-- As in 0005, with a lock on a table. CASCADE: a role with USAGE on the schema can make a view on a
-- partition without any right on it, and that must not keep the partition.
CREATE OR REPLACE FUNCTION drop_partitions(before date)
RETURNS integer LANGUAGE plpgsql SET lock_timeout = '2s'
AS $$
DECLARE
    day date;
    low bigint;
    high bigint;
    part text;
    is_busy boolean;
    dropped integer := 0;
BEGIN
    IF before > (clock_timestamp() AT TIME ZONE 'UTC')::date THEN
        PERFORM submit_refuse('', 'before', 'is in the future', 'Today and later always stay.');
    END IF;
    LOCK TABLE partition_lock IN SHARE UPDATE EXCLUSIVE MODE;
    FOR day IN SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS d
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'task'::regclass AND c.relname ~ '^task_[0-9]{8}$'
                 AND to_date(right(c.relname, 8), 'YYYYMMDD') < before
               ORDER BY d DESC LOOP
        low := (extract(epoch FROM day) * 1000)::bigint << 12;
        high := (extract(epoch FROM day + 1) * 1000)::bigint << 12;
        -- First without the locks, then with them.
        FOR is_locked IN 0..1 LOOP
            IF is_locked = 1 THEN
                LOCK TABLE task, ended, event IN ACCESS EXCLUSIVE MODE;
            END IF;
            SELECT EXISTS (SELECT 1 FROM task t WHERE t.id >= low AND t.id < high
                           AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.id = t.id))
                OR EXISTS (SELECT 1 FROM task c
                           WHERE c.parent >= low AND c.parent < high AND c.id >= high)
            INTO is_busy;
            EXIT WHEN is_busy;
        END LOOP;
        CONTINUE WHEN is_busy;
        INSERT INTO tally (lane, status, shard, n)
        SELECT e.lane, e.status, low, -count(*) FROM ended e
        WHERE e.id >= low AND e.id < high AND e.deleted_us IS NULL
        GROUP BY e.lane, e.status;
        DELETE FROM task_key k USING task t
        WHERE t.id = k.task AND t.id >= low AND t.id < high;
        DELETE FROM task_dep d WHERE d.task >= low AND d.task < high;
        DELETE FROM task_dep d WHERE d.needs >= low AND d.needs < high;
        FOREACH part IN ARRAY ARRAY['event', 'ended', 'task'] LOOP
            EXECUTE format('DROP TABLE IF EXISTS %I CASCADE',
                           part || '_' || to_char(day, 'YYYYMMDD'));
        END LOOP;
        DELETE FROM event_default WHERE task >= low AND task < high;
        DELETE FROM ended_default WHERE id >= low AND id < high;
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- As in 0008, likewise.
CREATE OR REPLACE FUNCTION drop_day(low bigint, high bigint, tasks bigint, versions bigint)
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '500ms'
AS $$
DECLARE
    suffix text := to_char(to_timestamp((low >> 12) / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD');
    part text;
    is_same boolean;
BEGIN
    LOCK TABLE partition_lock IN SHARE UPDATE EXCLUSIVE MODE;
    LOCK TABLE task, ended, event IN ACCESS EXCLUSIVE MODE;
    SELECT (SELECT count(*) FROM task t WHERE t.id >= low AND t.id < high) = tasks
       AND (SELECT count(*) = tasks AND coalesce(sum(e.version), 0) = versions
            FROM ended e WHERE e.id >= low AND e.id < high)
       AND NOT EXISTS (SELECT 1 FROM task c
                       WHERE c.parent >= low AND c.parent < high AND c.id >= high)
    INTO is_same;
    IF NOT is_same THEN
        RETURN false;
    END IF;
    INSERT INTO tally (lane, status, shard, n)
    SELECT e.lane, e.status, low, -count(*) FROM ended e
    WHERE e.id >= low AND e.id < high AND e.deleted_us IS NULL
    GROUP BY e.lane, e.status
    ON CONFLICT (lane, status, shard) DO UPDATE SET n = tally.n + excluded.n;
    DELETE FROM task_key k USING task t WHERE t.id = k.task AND t.id >= low AND t.id < high;
    DELETE FROM task_dep d WHERE d.task >= low AND d.task < high;
    DELETE FROM task_dep d WHERE d.needs >= low AND d.needs < high;
    DELETE FROM origin o WHERE o.task >= low AND o.task < high;
    FOREACH part IN ARRAY ARRAY['event', 'ended', 'task'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I CASCADE', part || '_' || suffix);
    END LOOP;
    DELETE FROM event_default WHERE task >= low AND task < high;
    DELETE FROM ended_default WHERE id >= low AND id < high;
    DELETE FROM task_default WHERE id >= low AND id < high;
    RETURN true;
END $$;

-- Granting --------------------------------------------------------------------------------------

-- The functions for applications, and what a reader needs: the views, and the functions in them,
-- which PostgreSQL runs with the rights of the reader.
CREATE OR REPLACE FUNCTION submit_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY['submit', 'submit_many', 'emit'] $$;

CREATE OR REPLACE FUNCTION read_views() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT ARRAY['tasks', 'task_events', 'task_results', 'task_deps', 'task_joins', 'resources',
                   'workers'] $$;

CREATE OR REPLACE FUNCTION read_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY['task_uuid', 'us_to_time', 'clock_us'] $$;

-- Takes from PUBLIC what PostgreSQL gives it by itself (R3). Extensions are left alone.
CREATE OR REPLACE FUNCTION revoke_public() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    schema CONSTANT oid := quote_ident(current_schema())::regnamespace;
    owner CONSTANT oid := (SELECT relowner FROM pg_class WHERE oid = 'task'::regclass);
    item text;
BEGIN
    -- The type of an array has the rights of its elements.
    FOR item IN SELECT format('ROUTINE %s', p.oid::regprocedure)
                FROM pg_proc p WHERE p.pronamespace = schema AND p.proowner = owner
                UNION ALL
                SELECT format('TYPE %I', t.typname)
                FROM pg_type t
                WHERE t.typnamespace = schema AND t.typowner = owner AND t.typcategory <> 'A'
                  AND (t.typacl IS NULL OR EXISTS (SELECT 1 FROM aclexplode(t.typacl) AS a
                                                   WHERE a.grantee = 0)) LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', item);
    END LOOP;
END $$;

-- A role that has no right left on anything in the schema needs no USAGE.
CREATE OR REPLACE FUNCTION revoke_usage(role name) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    schema CONSTANT oid := quote_ident(current_schema())::regnamespace;
    wanted CONSTANT oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = role);
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_class c, aclexplode(c.relacl) AS a
                   WHERE c.relnamespace = schema AND a.grantee = wanted)
       AND NOT EXISTS (SELECT 1 FROM pg_proc p, aclexplode(p.proacl) AS a
                       WHERE p.pronamespace = schema AND a.grantee = wanted) THEN
        EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM %I', current_schema(), role);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION check_role(role name) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = role) THEN
        PERFORM submit_refuse('', 'role', format('%s does not exist', coalesce(role, 'null')),
                              'CREATE ROLE makes it.');
    END IF;
END $$;

-- Lets a role, and its members, call submit, submit_many and emit for these namespaces, and no
-- longer for others. '*' is all namespaces.
CREATE OR REPLACE FUNCTION grant_submit(role name, namespaces text[]) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    item text;
BEGIN
    PERFORM check_role(role);
    IF coalesce(cardinality(namespaces), 0) = 0 THEN
        PERFORM submit_refuse('', 'namespaces', 'is empty',
                              'Name some, or ''*'' for all; revoke_submit takes the right away.');
    END IF;
    FOREACH item IN ARRAY namespaces LOOP
        IF submit_name('', 'namespaces', to_jsonb(item), 255) IS NULL THEN
            PERFORM submit_refuse('', 'namespaces', 'has a null in it', 'Name namespaces.');
        END IF;
    END LOOP;
    DELETE FROM submit_grant g WHERE g.role = grant_submit.role;
    INSERT INTO submit_grant (role, namespace)
    SELECT DISTINCT grant_submit.role, n FROM unnest(namespaces) AS n;
    IF NOT has_schema_privilege(role, current_schema(), 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    END IF;
    FOREACH item IN ARRAY submit_functions() LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO %I', item, role);
    END LOOP;
END $$;

-- Takes back what grant_submit gave. A role that was dropped meanwhile is forgotten.
CREATE OR REPLACE FUNCTION revoke_submit(role name) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    item text;
BEGIN
    DELETE FROM submit_grant g WHERE g.role = revoke_submit.role;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = revoke_submit.role) THEN
        RETURN;
    END IF;
    PERFORM check_role(role);
    FOREACH item IN ARRAY submit_functions() LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I FROM %I', item, role);
    END LOOP;
    PERFORM revoke_usage(role);
END $$;

-- Lets a role read the views, for all namespaces.
CREATE OR REPLACE FUNCTION grant_read(role name) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    item text;
BEGIN
    PERFORM check_role(role);
    IF NOT has_schema_privilege(role, current_schema(), 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    END IF;
    FOREACH item IN ARRAY read_views() LOOP
        EXECUTE format('GRANT SELECT ON %I TO %I', item, role);
    END LOOP;
    FOREACH item IN ARRAY read_functions() LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO %I', item, role);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION revoke_read(role name) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    item text;
BEGIN
    PERFORM check_role(role);
    FOREACH item IN ARRAY read_views() LOOP
        EXECUTE format('REVOKE ALL ON %I FROM %I', item, role);
    END LOOP;
    FOREACH item IN ARRAY read_functions() LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I FROM %I', item, role);
    END LOOP;
    PERFORM revoke_usage(role);
END $$;

-- A search_path for each function that reads or writes tables, temporary tables last. The owner of
-- everything is the owner of the table task, also when a superuser applies this step.
DO $$
DECLARE
    item text;
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    FOREACH item IN ARRAY ARRAY['submit', 'submit_many', 'emit', 'make_partitions',
                                'drop_partitions', 'old_day', 'drop_day', 'worker_leads_until',
                                'revoke_public', 'revoke_usage', 'check_role', 'grant_submit',
                                'revoke_submit', 'grant_read', 'revoke_read'] LOOP
        EXECUTE format('ALTER FUNCTION %I SET search_path = %I, pg_temp', item, current_schema());
    END LOOP;
    IF owner <> current_user THEN
        FOR item IN SELECT format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p
                    WHERE p.pronamespace = quote_ident(current_schema())::regnamespace
                      AND p.proowner = quote_ident(current_user)::regrole
                    UNION ALL
                    SELECT format('TABLE %I', t) FROM unnest(ARRAY['submit_grant', 'submit_lock',
                                                                   'partition_lock']) AS t LOOP
            EXECUTE format('ALTER %s OWNER TO %I', item, owner);
        END LOOP;
    END IF;
END $$;

-- What was given before ------------------------------------------------------------------------

-- A role that has the rights which docs/postgres.md once asked for, and no other right to write, is
-- an application: it goes on as before, in all namespaces, with EXECUTE alone. Other roles keep
-- their rights; `faina doctor` lists them. A role that can read a view can go on to read it.
DO $$
DECLARE
    schema CONSTANT oid := quote_ident(current_schema())::regnamespace;
    given record;
    item text;
BEGIN
    FOR given IN
        SELECT r.rolname AS role
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = schema AND a.grantee <> c.relowner
        GROUP BY r.rolname
        HAVING bool_or(c.relname = 'task' AND a.privilege_type = 'INSERT')
           AND bool_or(c.relname = 'submit_key' AND a.privilege_type = 'UPDATE')
           AND bool_and(a.privilege_type = 'SELECT' OR
                        a.privilege_type = 'INSERT' AND c.relname IN
                        ('lane', 'task', 'task_key', 'ready', 'parked', 'task_dep', 'tally', 'log',
                         'happened_inbox') OR
                        a.privilege_type IN ('USAGE', 'UPDATE') AND c.relname = 'submit_key')
    LOOP
        FOREACH item IN ARRAY ARRAY['lane', 'task', 'task_key', 'ready', 'parked', 'task_dep',
                                    'tally', 'log', 'happened_inbox', 'task_standing', 'team',
                                    'submit_key'] LOOP
            EXECUTE format('REVOKE ALL ON %I FROM %I', item, given.role);
        END LOOP;
        PERFORM grant_submit(given.role, ARRAY['*']);
    END LOOP;
    FOR given IN
        SELECT DISTINCT r.rolname AS role
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = schema AND c.relname = ANY (read_views())
          AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
        FOREACH item IN ARRAY read_functions() LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO %I', item, given.role);
        END LOOP;
    END LOOP;
END $$;

SELECT revoke_public();
