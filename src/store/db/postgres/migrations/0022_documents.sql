-- Submits in SQL take payload, any UUID as team and an object as spec, and need no type.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- The views of tasks are as in 0016, but for this column.
DO $$
DECLARE
    name text;
    body text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tasks', 'tasks_by_key'] LOOP
        body := pg_get_viewdef(name::regclass);
        IF body ~ '[^(]\mas_jsonb\(t\.spec\) AS spec' THEN
            body := regexp_replace(body, '\mas_jsonb\(t\.spec\) AS spec',
                                   'coalesce(as_jsonb(t.spec), ''{}'') AS spec');
            EXECUTE format('CREATE OR REPLACE VIEW %I AS %s', name, body);
        ELSIF body !~* 'coalesce\(as_jsonb\(t\.spec\)' THEN
            RAISE EXCEPTION 'the view % is not that of 0016', name;
        END IF;
    END LOOP;
END $$;

-- As in 0011, with what the first lines say.
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
    WHERE k NOT IN ('namespace', 'type', 'name', 'input', 'payload', 'metadata', 'spec',
                    'priority', 'maxAttempts', 'maxRetries', 'delay', 'runAt',
                    'idempotencyKey', 'dedupe', 'dependsOn', 'resources', 'retry', 'teamId',
                    'team_id', 'createdBy')
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
    names := submit_resources(place, body -> 'resources');
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

-- The list of steps (N1 of 0016) --------------------------------------------------------------

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0022_documents', 'Submits in SQL take payload, any UUID as team and an object as spec, and '
                       'need no type.', now())
ON CONFLICT (id) DO NOTHING;
