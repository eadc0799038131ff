-- Views with the tables of document 003, and settings of the store.
--
-- task_joins has a row for each task that a join has collected in its present round. The view that
-- had this name before is join_rounds: views and functions of other programs that use it go on.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm. The
-- views replace those of the steps before, so these can't be applied again.

CREATE TABLE IF NOT EXISTS setting (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- Which ends of tasks are sent on the channel task_completed: 'all', or 'awaited' (the default),
-- those that another node waits for.
CREATE OR REPLACE FUNCTION notify_ends(which text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF which IS NULL OR which NOT IN ('all', 'awaited') THEN
        PERFORM submit_refuse('', 'which', format('is %s', coalesce(left(which, 44), 'null')),
                              'It is ''all'' or ''awaited''.');
    END IF;
    INSERT INTO setting (name, value) VALUES ('notify', which)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END $$;

DO $$ BEGIN
    IF to_regclass('join_rounds') IS NULL THEN
        ALTER VIEW task_joins RENAME TO join_rounds;
    END IF;
END $$;

CREATE OR REPLACE VIEW task_joins AS
    SELECT as_jsonb(s.key) #>> '{}' AS join_key, s.workflow AS workflow_id, m.type AS task_type,
           (m.task ->> 'id')::uuid AS task_id, us_to_time(e.completed_us) AS completed_at,
           m.task ->> 'status' AS status, s.namespace, s.name AS join_name, s.round
    FROM join_state s
    CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(as_jsonb(s.members))
                                  WHEN 'object' THEN as_jsonb(s.members) ELSE '{}' END)
        AS m (type, task)
    LEFT JOIN ended e ON e.id = task_key_of((m.task ->> 'id')::uuid);

CREATE OR REPLACE VIEW task_task_dep AS
    SELECT task_uuid(t.id, t.tail) AS task_id, task_uuid(n.id, n.tail) AS depends_on
    FROM task_dep d JOIN task t ON t.id = d.task JOIN task n ON n.id = d.needs
    UNION ALL
    SELECT task_uuid(p.id, p.tail), task_uuid(c.id, c.tail)
    FROM task c JOIN task p ON p.id = c.parent
    WHERE c.parent IS NOT NULL;

CREATE OR REPLACE VIEW task_resource AS
    SELECT id, name, max_concurrency FROM resource;

CREATE OR REPLACE VIEW task_resource_dep AS
    SELECT task_uuid(t.id, t.tail) AS task_id, r.id AS depends_on
    FROM lane l
    CROSS JOIN LATERAL jsonb_array_elements_text(
        CASE jsonb_typeof(as_jsonb(l.resources)) WHEN 'array' THEN as_jsonb(l.resources)
             ELSE '[]' END) AS n (name)
    JOIN resource r ON lower(r.name COLLATE "C") = lower(n.name COLLATE "C")
    JOIN task t ON t.lane = l.id;

CREATE OR REPLACE VIEW node AS
    SELECT id, hostname, us_to_time(last_heartbeat_us) AS last_seen FROM worker;

CREATE OR REPLACE FUNCTION read_views() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$ SELECT ARRAY['tasks', 'task_events', 'task_results', 'task_deps', 'task_joins', 'resources',
                   'workers', 'tasks_by_key', 'task_events_by_key', 'join_rounds',
                   'task_task_dep', 'task_resource', 'task_resource_dep', 'node'] $$;

-- A role that could read the old view can read the new ones. One owner, also when a superuser
-- applies this step (0011).
DO $$
DECLARE
    schema CONSTANT oid := quote_ident(current_schema())::regnamespace;
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    given record;
    item text;
BEGIN
    EXECUTE format('ALTER FUNCTION notify_ends SET search_path = %I, pg_temp', current_schema());
    IF owner <> current_user THEN
        EXECUTE format('ALTER FUNCTION notify_ends OWNER TO %I', owner);
        EXECUTE format('ALTER FUNCTION read_views OWNER TO %I', owner);
        EXECUTE format('ALTER TABLE setting OWNER TO %I', owner);
        FOREACH item IN ARRAY ARRAY['task_joins', 'task_task_dep', 'task_resource',
                                    'task_resource_dep', 'node'] LOOP
            EXECUTE format('ALTER VIEW %I OWNER TO %I', item, owner);
        END LOOP;
    END IF;
    PERFORM revoke_public();
    FOR given IN
        SELECT r.rolname AS role, a.is_grantable
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = schema AND c.relname = 'join_rounds'
          AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
        FOREACH item IN ARRAY ARRAY['task_joins', 'task_task_dep', 'task_resource',
                                    'task_resource_dep', 'node'] LOOP
            EXECUTE format('GRANT SELECT ON %I TO %I%s', item, given.role,
                           CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
        END LOOP;
    END LOOP;
END $$;

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0018_document_views', 'Views with the tables of document 003, and settings of the store.',
     now())
ON CONFLICT (id) DO NOTHING;
