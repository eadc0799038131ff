-- Submits in SQL: policies of types apply, and inputs are checked by the schema of their type.
--
-- submit_plan and submit_store get another name, and functions with their old names call them. A
-- later step that changes one of the two changes submit_plan_own or submit_store_own.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

DO $$ BEGIN
    IF to_regprocedure('submit_plan_own(text,jsonb,bigint,bigint,text[])') IS NULL THEN
        ALTER FUNCTION submit_plan(text, jsonb, bigint, bigint, text[]) RENAME TO submit_plan_own;
        ALTER FUNCTION submit_store(new_task[], bigint) RENAME TO submit_store_own;
    END IF;
END $$;

-- Refuses an input with the place of its first mistake. As src/model/input_schema.c, which has
-- checked the schema: each value meets one schema.
CREATE OR REPLACE FUNCTION submit_check_input(place text, root jsonb, schema jsonb, value jsonb,
                                              at text)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    kind text := jsonb_typeof(value);
    item record;
    inner_at text;
    inner_schema jsonb;
    names text[];
    size bigint;
BEGIN
    WHILE jsonb_typeof(schema) = 'object' AND schema ? '$ref' LOOP
        schema := CASE schema ->> '$ref' WHEN '#' THEN root
                  ELSE root -> '$defs' -> substr(schema ->> '$ref', 9) END;
    END LOOP;
    IF schema = 'false' THEN
        PERFORM submit_refuse(place, at, 'is not allowed', 'Its schema is false.');
    END IF;
    IF jsonb_typeof(schema) <> 'object' THEN
        RETURN;
    END IF;
    IF schema ? 'type' THEN
        names := CASE jsonb_typeof(schema -> 'type')
                 WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(schema -> 'type'))
                 ELSE ARRAY[schema ->> 'type'] END;
        IF NOT kind = ANY (names) AND
           NOT (kind = 'number' AND 'integer' = ANY (names) AND
                (value #>> '{}')::numeric = trunc((value #>> '{}')::numeric)) THEN
            PERFORM submit_refuse(place, at, 'must be of the type ' ||
                                  array_to_string(names, ' or '), 'See inputSchema of the type.');
        END IF;
    END IF;
    IF schema ? 'const' AND value <> schema -> 'const' THEN
        PERFORM submit_refuse(place, at, 'must be ' || left((schema -> 'const')::text, 200),
                              'See inputSchema of the type.');
    END IF;
    IF schema ? 'enum' AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(schema -> 'enum') AS a (e)
                                       WHERE a.e = submit_check_input.value) THEN
        PERFORM submit_refuse(place, at, 'is none of the values that enum lists',
                              'See inputSchema of the type.');
    END IF;
    IF kind = 'number' AND
       ((value #>> '{}')::numeric < (schema ->> 'minimum')::numeric OR
        (value #>> '{}')::numeric > (schema ->> 'maximum')::numeric OR
        (value #>> '{}')::numeric <= (schema ->> 'exclusiveMinimum')::numeric OR
        (value #>> '{}')::numeric >= (schema ->> 'exclusiveMaximum')::numeric) THEN
        PERFORM submit_refuse(place, at, 'is out of range', 'See inputSchema of the type.');
    END IF;
    size := CASE kind WHEN 'string' THEN char_length(value #>> '{}')
            WHEN 'array' THEN jsonb_array_length(value)
            WHEN 'object' THEN (SELECT count(*) FROM jsonb_object_keys(value)) END;
    names := CASE kind WHEN 'string' THEN ARRAY['minLength', 'maxLength', 'characters']
             WHEN 'array' THEN ARRAY['minItems', 'maxItems', 'items']
             WHEN 'object' THEN ARRAY['minProperties', 'maxProperties', 'members'] END;
    IF size < (schema ->> names[1])::numeric OR size > (schema ->> names[2])::numeric THEN
        PERFORM submit_refuse(place, at, format('has %s %s', size, names[3]),
                              'See inputSchema of the type.');
    END IF;
    IF kind = 'array' AND schema ? 'items' THEN
        FOR item IN SELECT a.e AS entry, a.n FROM jsonb_array_elements(value)
                    WITH ORDINALITY AS a (e, n) LOOP
            PERFORM submit_check_input(place, root, schema -> 'items', item.entry,
                                       format('%s[%s]', at, item.n - 1));
        END LOOP;
    END IF;
    IF kind <> 'object' THEN
        RETURN;
    END IF;
    FOR item IN SELECT e.key, e.value AS entry FROM jsonb_each(submit_check_input.value) AS e LOOP
        inner_at := at || CASE WHEN item.key ~ '^[A-Za-z0-9_$]+$' THEN '.' || item.key
                          ELSE format('["%s"]', item.key) END;
        inner_schema := coalesce(schema -> 'properties' -> item.key,
                                 schema -> 'additionalProperties');
        IF inner_schema = 'false' THEN
            PERFORM submit_refuse(place, inner_at, 'is not allowed here',
                                  'See inputSchema of the type.');
        ELSIF inner_schema IS NOT NULL THEN
            PERFORM submit_check_input(place, root, inner_schema, item.entry, inner_at);
        END IF;
    END LOOP;
    FOR item IN SELECT jsonb_array_elements_text(schema -> 'required') AS name LOOP
        IF NOT value ? item.name THEN
            PERFORM submit_refuse(place, at || CASE
                WHEN item.name ~ '^[A-Za-z0-9_$]+$' THEN '.' || item.name
                ELSE format('["%s"]', item.name) END, 'is missing', 'See inputSchema of the type.');
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION submit_plan(place text, body jsonb, key bigint, now_us bigint,
                                       allowed text[])
RETURNS new_task LANGUAGE plpgsql
AS $$
DECLARE
    policy type_policy;
    task new_task;
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
    END IF;
    task := submit_plan_own(place, body, key, now_us, allowed);
    IF NOT task.existing THEN
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

-- Then sets startBy of the types that have it, with its timer.
CREATE OR REPLACE FUNCTION submit_store(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    due_us bigint;
BEGIN
    PERFORM submit_store_own(tasks, now_us);
    IF NOT EXISTS (SELECT 1 FROM type_policy p WHERE p.start_by_ms IS NOT NULL) THEN
        RETURN;
    END IF;
    WITH late AS (
        UPDATE task t SET start_by_us = now_us + p.start_by_ms * 1000
        FROM unnest(tasks) AS n
        JOIN lane l ON l.id = n.lane
        JOIN type_policy p ON p.namespace = l.namespace AND p.folded = lower(l.type COLLATE "C")
        WHERE t.id = n.id AND NOT n.existing AND p.start_by_ms IS NOT NULL
        RETURNING t.id, t.start_by_us
    ), timed AS (
        INSERT INTO timer (at_us, task, kind) SELECT start_by_us, id, 0 FROM late
        RETURNING at_us
    )
    SELECT min(at_us) INTO due_us FROM timed;
    IF due_us IS NOT NULL THEN
        PERFORM pg_notify('task_due', format('%s %s', current_schema(), due_us));
    END IF;
END $$;

DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    item text;
BEGIN
    IF owner <> current_user THEN
        FOREACH item IN ARRAY ARRAY['submit_plan', 'submit_store', 'submit_check_input'] LOOP
            EXECUTE format('ALTER FUNCTION %I OWNER TO %I', item, owner);
        END LOOP;
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0033_typed_submits',
     'Submits in SQL: policies of types apply, and inputs are checked by the schema of their type.',
     now())
ON CONFLICT (id) DO NOTHING;
