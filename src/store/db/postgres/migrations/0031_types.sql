-- Policies of types, and what is known of workers that could handle their tasks.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS type_policy (
    namespace     text NOT NULL,
    folded        text NOT NULL,   -- the type in lower case
    type          text NOT NULL,   -- as it was written
    max_attempts  bigint,          -- null: not set, as in all that follow; 0: no limit
    retry_base_ms bigint,
    retry_factor  double precision,
    retry_max_ms  bigint,
    timeout_ms    bigint,
    start_by_ms   bigint,
    priority      bigint,
    resources     text,            -- JSON array of names
    unhandled_ms  bigint,
    input_schema  text,            -- JSON Schema
    updated_us    bigint NOT NULL,
    version       bigint NOT NULL, -- +1 with each change
    PRIMARY KEY (namespace, folded)
);

-- Grows with each change of the table above: nodes that keep policies in memory compare it.
CREATE TABLE IF NOT EXISTS type_policy_generation (
    one integer PRIMARY KEY CHECK (one = 1),
    n   bigint NOT NULL
);
INSERT INTO type_policy_generation (one, n) VALUES (1, 1) ON CONFLICT DO NOTHING;

-- Workers that claim tasks, while some type has a policy with unhandled_ms. They may not be in the
-- table worker.
CREATE TABLE IF NOT EXISTS claimer (
    worker     text PRIMARY KEY,
    types      text,           -- JSON array of names, as in the table worker
    services   text,
    namespaces text,
    until_us   bigint NOT NULL -- it counts as alive until then, and as long as it holds a task
);

-- Lanes with ready tasks that no live worker handles.
CREATE TABLE IF NOT EXISTS unhandled (
    lane     bigint PRIMARY KEY,
    since_us bigint NOT NULL
);

-- When another role applies this step, the owner of the other tables has these, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    item text;
BEGIN
    FOREACH item IN ARRAY ARRAY['type_policy', 'type_policy_generation', 'claimer', 'unhandled']
    LOOP
        IF owner <> current_user THEN
            EXECUTE format('ALTER TABLE %I OWNER TO %I', item, owner);
        END IF;
    END LOOP;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0031_types',
     'Policies of types, and what is known of workers that could handle their tasks.', now())
ON CONFLICT (id) DO NOTHING;
