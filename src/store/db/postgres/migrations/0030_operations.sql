-- Operations on many tasks, which run in slices.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS operation (
    id         text PRIMARY KEY,
    kind       bigint NOT NULL, -- enum fa_bulk_kind
    status     bigint NOT NULL, -- enum fa_bulk_status; 0: it runs
    counted    bigint NOT NULL, -- 1: all tasks of the filter are counted
    namespace  text NOT NULL,   -- of the filter; '*': all
    request    text NOT NULL,   -- JSON: the body of the request
    position   text,            -- counting, or then acting, goes on there; null: from the start
    matched    bigint NOT NULL,
    done       bigint NOT NULL,
    failed     bigint NOT NULL,
    created_by text,            -- the name of a token; null: there was none
    error      text,            -- why it failed
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    ended_us   bigint           -- null: it runs
);
DO $$ BEGIN
    IF to_regclass('operation_running') IS NULL THEN
        CREATE INDEX operation_running ON operation (id) WHERE status = 0;
    END IF;
END $$;

-- When another role applies this step, the owner of the other tables has this one, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE operation OWNER TO %I', owner);
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0030_operations', 'Operations on many tasks, which run in slices.', now())
ON CONFLICT (id) DO NOTHING;
