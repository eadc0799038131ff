-- Functions for SQL: submit and submit_many in one's own transaction, drop_partitions.
--
--     BEGIN;
--     INSERT INTO orders ...;
--     SELECT faina.submit('mail.send', '{"to": "ann@example.com"}', key => 'order-17');
--     COMMIT;
--
-- The task exists exactly when the transaction commits. Invariants:
--
--   S1  The same rules, limits and keys as for every other submit.
--   S2  No row that other transactions may need is locked until the caller's commit, with one
--       exception: a key. Another submit with the same key waits, and then gets the same task.
--
-- For S2, new lanes get a row of their own (`maker`), counts a row for each call, ids come from a
-- sequence, the engine creates resources when it first reads the lane, and a task that depends on
-- others (dependsOn) is parked with a time, at which the leader links it to them. The functions run
-- with the rights of the caller: docs/postgres.md lists them.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Two lanes of one name are as good as one; so a transaction that first uses a type keeps nobody
-- waiting. 0: made by an engine; else the transaction. Long lists of resources don't fit an index.
ALTER TABLE lane ADD COLUMN IF NOT EXISTS maker bigint NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX IF NOT EXISTS lane_name
    ON lane (namespace, type, hashtextextended(resources, 0), maker);
ALTER TABLE lane DROP CONSTRAINT IF EXISTS lane_namespace_type_resources_key;

-- Shards up to 63 belong to the engines' connections. Greater ones are the first id of one call,
-- and are added to the others by the leader.
CREATE INDEX IF NOT EXISTS tally_loose ON tally (shard) WHERE shard > 63;

-- The newest key that was handed out here. Keys end with slot 63, which no engine has.
CREATE SEQUENCE IF NOT EXISTS submit_key MINVALUE 1;

-- A task that is about to be stored.
DO $$ BEGIN
    IF to_regtype('new_task') IS NULL THEN
        CREATE TYPE new_task AS (
            id bigint, tail bigint, existing boolean, lane integer, rank integer,
            max_attempts integer, run_at_us bigint, retry_base_ms bigint, retry_max_ms bigint,
            retry_factor double precision, input text, name text, metadata text, spec text,
            key text, team text, created_by text, status smallint, flags bigint, at_us bigint,
            needs bigint[], deps_left bigint, deps_bad bigint);
    END IF;
END $$;

-- Refusing ---------------------------------------------------------------------------------------

-- `place` is "tasks[3]: " in a list, where fields go by their names in JSON, and else empty.
CREATE OR REPLACE FUNCTION submit_refuse(place text, field text, sentence text, hint text)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    shown text := CASE WHEN place <> '' THEN field
                       ELSE CASE field WHEN 'idempotencyKey' THEN 'key' WHEN 'runAt' THEN 'run_at'
                            WHEN 'maxAttempts' THEN 'max_attempts' WHEN 'teamId' THEN 'team'
                            WHEN 'createdBy' THEN 'created_by' WHEN 'dependsOn' THEN 'depends_on'
                            ELSE field END END;
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', COLUMN = shown, HINT = hint,
        MESSAGE = format('%s%s %s', place, shown, sentence);
END $$;

-- A name, or null when there is none.
CREATE OR REPLACE FUNCTION submit_name(place text, field text, value jsonb, size_max integer)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
    found text := value #>> '{}';
    size integer;
BEGIN
    IF found IS NULL THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) <> 'string' THEN
        PERFORM submit_refuse(place, field, 'must be a string', 'Put it in quotes.');
    END IF;
    IF found = '' THEN
        PERFORM submit_refuse(place, field, 'is empty', 'Leave it out, or set it to null.');
    END IF;
    size := octet_length(convert_to(found, 'UTF8'));
    IF size > size_max THEN
        PERFORM submit_refuse(place, field, format('is %s bytes long; the limit is %s', size,
                                                   size_max), 'Use a shorter one.');
    END IF;
    IF found ~ '[\u0001-\u001f\u007f]' THEN
        PERFORM submit_refuse(place, field, 'has a control character in it',
                              'Names have no line breaks, tabs or the like.');
    END IF;
    RETURN found;
END $$;

-- The text of a JSON value, or null when there is none.
CREATE OR REPLACE FUNCTION submit_json(place text, field text, value jsonb, size_max integer)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
    found text := value::text;
    size integer;
BEGIN
    IF value IS NULL OR found = 'null' THEN
        RETURN NULL;
    END IF;
    size := octet_length(convert_to(found, 'UTF8'));
    IF size > size_max THEN
        PERFORM submit_refuse(place, field, format('is %s bytes long; the limit is %s', size,
                                                   size_max),
                              'Keep what is large elsewhere, and submit where it is.');
    END IF;
    -- 64 brackets open and close; what is shorter can't be deeper. Level 64 is inside of them.
    IF size > 128 AND jsonb_path_exists(value, 'strict $.**{64} ? (@.type() == "array" || '
                                               '@.type() == "object")') THEN
        PERFORM submit_refuse(place, field, 'is nested deeper than 64 levels', 'Flatten it.');
    END IF;
    RETURN found;
END $$;

-- "1h30m", "50ms", "90" (seconds), or a number of seconds, in milliseconds.
CREATE OR REPLACE FUNCTION submit_duration(place text, field text, value jsonb)
RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
    number CONSTANT text := '([0-9]+(?:\.[0-9]+)?)';
    written text := value #>> '{}';
    parts text[];
    total numeric := 0;
    units CONSTANT bigint[] := ARRAY[86400000, 3600000, 60000, 1000, 1];
BEGIN
    IF written IS NULL THEN
        RETURN NULL;
    END IF;
    IF written LIKE '-%' THEN
        PERFORM submit_refuse(place, field, 'must not be negative', 'Leave it out for now.');
    END IF;
    IF written ~ ('^' || number || '$') THEN
        written := written || 's';
    END IF;
    parts := regexp_match(written, '^(?:' || number || 'd)?(?:' || number || 'h)?(?:' || number ||
                          'm(?!s))?(?:' || number || 's)?(?:' || number || 'ms)?$');
    IF parts IS NULL OR written = '' OR jsonb_typeof(value) NOT IN ('string', 'number') THEN
        PERFORM submit_refuse(place, field, format('is not a duration: %s', left(written, 44)),
                              'The units are ms, s, m, h and d, as in "50ms", "90s" or "1h30m".');
    END IF;
    FOR i IN 1..5 LOOP
        total := total + coalesce(trunc(parts[i]::numeric * units[i]), 0);
    END LOOP;
    IF total > 100::bigint * 366 * 86400000 THEN
        PERFORM submit_refuse(place, field, 'is longer than 100 years', 'Use a shorter one.');
    END IF;
    -- Nothing means at once, so a short time must not become it by rounding down.
    RETURN CASE WHEN total = 0 AND written ~ '[1-9]' THEN 1 ELSE total END;
END $$;

-- A time in microseconds.
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
    IF jsonb_typeof(value) = 'string' AND written ~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:'
            '[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})$') THEN
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

-- A whole number, or null when there is none.
CREATE OR REPLACE FUNCTION submit_number(place text, field text, value jsonb, value_min integer,
                                         value_max integer)
RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
    found numeric;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) = 'number' THEN
        found := (value #>> '{}')::numeric;
    END IF;
    IF found IS NULL OR found < value_min OR found > value_max OR found <> trunc(found) THEN
        PERFORM submit_refuse(place, field, format('is %s; it must be a whole number from %s to %s',
                                                   left(value #>> '{}', 44), value_min, value_max),
                              'Leave it out for the default.');
    END IF;
    RETURN found;
END $$;

-- Names in a list, sorted as the engine does, each once: as JSON text for the lane.
CREATE OR REPLACE FUNCTION submit_resources(place text, value jsonb)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
    count integer;
    names text;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN '[]';
    END IF;
    IF jsonb_typeof(value) <> 'array' THEN
        PERFORM submit_refuse(place, 'resources', 'must be an array of strings',
                              'Write it as ["gpu", "disk"].');
    END IF;
    count := jsonb_array_length(value);
    IF count > 16 THEN
        PERFORM submit_refuse(place, 'resources', format('has %s items; the limit is 16', count),
                              'Use one resource for several that always go together.');
    END IF;
    FOR i IN 0..count - 1 LOOP
        IF jsonb_typeof(value -> i) <> 'string' THEN
            PERFORM submit_refuse(place, 'resources', 'must be an array of strings',
                                  'Write it as ["gpu", "disk"].');
        END IF;
        PERFORM submit_name(place, format('resources[%s]', i), value -> i, 255);
    END LOOP;
    SELECT string_agg(to_json(n)::text, ',' ORDER BY n COLLATE "C") INTO names
    FROM (SELECT DISTINCT n COLLATE "C" AS n FROM jsonb_array_elements_text(value) AS e (n)) AS d;
    RETURN '[' || coalesce(names, '') || ']';
END $$;

CREATE OR REPLACE FUNCTION submit_is_id(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$ SELECT value ~* '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' $$;

-- Looking ----------------------------------------------------------------------------------------

-- A task and how it stands. Planned anew each time, because that reads, and locks, one day's
-- partition only: a lock on the others would be in the way of making and dropping partitions.
CREATE OR REPLACE FUNCTION submit_look(wanted bigint, OUT tail bigint, OUT status smallint)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    SELECT t.tail INTO submit_look.tail FROM task t WHERE t.id = wanted;
    SELECT s.status INTO submit_look.status FROM task_standing s
    WHERE s.id = wanted AND s.deleted_us IS NULL;
END $$;

-- The tasks that dependsOn names.
CREATE OR REPLACE FUNCTION submit_needs(place text, value jsonb, INOUT task new_task)
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
        found := submit_look(wanted);
        IF found.status IS NULL OR task_uuid(wanted, found.tail) <> item::uuid THEN
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

-- Making -----------------------------------------------------------------------------------------

-- Hands out `count` keys, each 64 after the one before, and returns the first. Nobody else gets
-- them, and nobody waits for our commit: the lock is the session's, and let go at once. Keys may
-- run ahead of the clock, which has room for 64 in a millisecond; an hour ahead, the clock was set
-- back.
CREATE OR REPLACE FUNCTION submit_keys(count integer, now_us bigint)
RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
    gate CONSTANT bigint := hashtextextended('faina submit ' || current_schema(), 0);
    at_clock CONSTANT bigint :=
        (((now_us / 1000) << 12) + (((now_us % 1000) << 12) + 999) / 1000) | 63;
    first bigint;
BEGIN
    PERFORM pg_advisory_lock(gate);
    first := coalesce(pg_sequence_last_value('submit_key'), 0) + 64;
    IF first < at_clock OR first > at_clock + (3600000::bigint << 12) THEN
        first := at_clock;
    END IF;
    PERFORM setval('submit_key', first + 64 * (count - 1));
    PERFORM pg_advisory_unlock(gate);
    RETURN first;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    PERFORM pg_advisory_unlock(gate); -- it would outlive the transaction
    RAISE;
END $$;

CREATE OR REPLACE FUNCTION submit_lane(ns text, kind text, names text)
RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
    found integer;
BEGIN
    SELECT l.id INTO found FROM lane l
    WHERE l.namespace = ns AND l.type = kind
      AND hashtextextended(l.resources, 0) = hashtextextended(names, 0) AND l.resources = names
    ORDER BY l.id LIMIT 1;
    IF found IS NULL THEN
        INSERT INTO lane (namespace, type, resources, maker)
        VALUES (ns, kind, names, pg_current_xact_id()::text::bigint)
        RETURNING id INTO found;
    END IF;
    RETURN found;
END $$;

-- Eight bytes as the engine reads them from memory: the first is the lowest.
CREATE OR REPLACE FUNCTION submit_int8(bytes bytea, at integer) RETURNS bigint
LANGUAGE sql IMMUTABLE
AS $$ SELECT get_byte(bytes, at)::bigint | (get_byte(bytes, at + 1)::bigint << 8) |
             (get_byte(bytes, at + 2)::bigint << 16) | (get_byte(bytes, at + 3)::bigint << 24) |
             (get_byte(bytes, at + 4)::bigint << 32) | (get_byte(bytes, at + 5)::bigint << 40) |
             (get_byte(bytes, at + 6)::bigint << 48) | (get_byte(bytes, at + 7)::bigint << 56) $$;

-- Takes the key for task.id, or finds the task that has it. Who comes second waits here.
CREATE OR REPLACE FUNCTION submit_take_key(ns text, kind text, INOUT task new_task)
LANGUAGE plpgsql
AS $$
DECLARE
    bytes bytea := ''::bytea;
    part text;
    digest bytea;
    low bigint;
    high bigint;
    holder bigint;
BEGIN
    FOREACH part IN ARRAY ARRAY['key', ns, kind, task.key] LOOP
        bytes := bytes || int8send(octet_length(convert_to(part, 'UTF8'))) ||
                 convert_to(part, 'UTF8');
    END LOOP;
    digest := sha256(bytes);
    low := submit_int8(digest, 0);
    high := submit_int8(digest, 8);
    IF low = 0 THEN
        low := 1;
    END IF;
    LOOP
        SELECT k.task INTO holder FROM task_key k WHERE k.hash = low AND k.more = high;
        IF FOUND THEN
            task.id := holder;
            task.existing := true;
            RETURN;
        END IF;
        INSERT INTO task_key (hash, more, task) VALUES (low, high, task.id)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END $$;

-- Checks one task, the body of a submit in JSON, and makes what is to be stored.
CREATE OR REPLACE FUNCTION submit_plan(place text, body jsonb, key bigint, now_us bigint)
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
    task := submit_needs(place, body -> 'dependsOn', task);
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

-- Stores tasks, and tells the engines, which hear of it at the commit.
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
                      created_by)
    SELECT n.id, n.tail, now_us, n.lane, n.rank, n.max_attempts, n.run_at_us, n.retry_base_ms,
           n.retry_max_ms, n.retry_factor, n.input, n.name, n.metadata, n.spec, n.key, n.team,
           n.created_by
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
                         IS NOT NULL OR coalesce(n.run_at_us, n.retry_base_ms, n.retry_max_ms)
                         IS NOT NULL OR n.retry_factor IS NOT NULL THEN 1 END AS more) AS m
    WHERE NOT n.existing AND n.at_us IS NULL;
    GET DIAGNOSTICS parked_count = ROW_COUNT;
    parked_count := stored - parked_count;
    IF parked_count < stored THEN
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

-- For everybody ----------------------------------------------------------------------------------

-- Submits one task and returns its id: that of the first one, when the key is taken.
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

-- Submits a list of tasks, each as in the body of a submit over HTTP: all of them, or none.
CREATE OR REPLACE FUNCTION submit_many(tasks jsonb)
RETURNS TABLE (ordinal integer, id uuid, existing boolean) LANGUAGE plpgsql
AS $$
DECLARE
    now_us CONSTANT bigint := clock_us();
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
        task := submit_plan(format('tasks[%s]: ', n), body, first + 64 * n, now_us);
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

-- It stops the queue while it waits for its locks, so it doesn't wait for long: it is run again.
ALTER FUNCTION make_partitions(integer) SET lock_timeout = '200ms';

-- Retention: removes the tasks of whole days before the given one (UTC), and returns how many days.
-- A day stays while a task of it has not ended, or has subtasks in a day that stays. Its locks stop
-- the queue until the commit, so give it a transaction of its own; it gives up when it must wait.
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
    PERFORM pg_advisory_xact_lock(hashtext(current_schema() || '.make_partitions'));
    FOR day IN SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS d
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'task'::regclass AND c.relname ~ '^task_[0-9]{8}$'
                 AND to_date(right(c.relname, 8), 'YYYYMMDD') < before
               ORDER BY d DESC LOOP
        low := (extract(epoch FROM day) * 1000)::bigint << 12;
        high := (extract(epoch FROM day + 1) * 1000)::bigint << 12;
        -- Once to see, and once more when nobody can change it.
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
            EXECUTE format('DROP TABLE IF EXISTS %I', part || '_' || to_char(day, 'YYYYMMDD'));
        END LOOP;
        DELETE FROM event_default WHERE task >= low AND task < high;
        DELETE FROM ended_default WHERE id >= low AND id < high;
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- Called from anywhere, they see this schema's tables and nobody's temporary ones.
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION submit SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION submit_many SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_partitions SET search_path = %I, pg_temp',
                   current_schema());
END $$;
