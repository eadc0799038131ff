-- Failures that are alike, counted: one type, one kind and alike messages.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS failure_group (
    id        bigint PRIMARY KEY, -- a hash of namespace, type, kind and message
    namespace text NOT NULL,
    type      text NOT NULL,
    kind      text NOT NULL,      -- '': none
    message   text NOT NULL,
    count     bigint NOT NULL,
    first_us  bigint NOT NULL,
    last_us   bigint NOT NULL,
    tasks     text NOT NULL       -- the ids of the last ones, each followed by a space
);
DO $$ BEGIN
    IF to_regclass('failure_group_last') IS NULL THEN
        CREATE INDEX failure_group_last ON failure_group (namespace, last_us);
    END IF;
END $$;

-- When another role applies this step, the owner of the other tables has this one, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE failure_group OWNER TO %I', owner);
    END IF;
END $$;

SELECT revoke_public(); -- also for the type of the table history

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0027_failures', 'Failures that are alike, counted: one type, one kind and alike messages.',
     now())
ON CONFLICT (id) DO NOTHING;
