-- The audit: administrative acts, and what people did to tasks.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Each entry has the hash of the one before.
CREATE TABLE IF NOT EXISTS audit (
    id            bigint PRIMARY KEY, -- 1, 2, 3, ... without gaps
    at_us         bigint NOT NULL,
    who           text,               -- the name of a token or user; null: there was none
    act           text NOT NULL,
    target        text,
    reason        text,
    request_id    text,
    previous_hash text,               -- null: the first entry
    hash          text NOT NULL
);

-- What shows that entries at the end are missing. One row.
CREATE TABLE IF NOT EXISTS audit_head (
    only_row bigint PRIMARY KEY CHECK (only_row = 1),
    count    bigint NOT NULL,
    hash     text
);
INSERT INTO audit_head (only_row, count) VALUES (1, 0) ON CONFLICT (only_row) DO NOTHING;

-- When another role applies this step, the owner of the other tables has these, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE audit OWNER TO %I', owner);
        EXECUTE format('ALTER TABLE audit_head OWNER TO %I', owner);
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0029_audit', 'The audit: administrative acts, and what people did to tasks.', now())
ON CONFLICT (id) DO NOTHING;
