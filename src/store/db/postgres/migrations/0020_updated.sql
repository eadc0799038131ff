-- Indexes for lists in the order of the last change.
--
-- Held tasks need none, because there are few. Ready tasks that nothing has changed since their
-- submit have no time of a change: they are listed by id.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- IF NOT EXISTS would lock a table whose index is there.
DO $$ BEGIN
    IF to_regclass('ended_updated') IS NULL THEN
        CREATE INDEX ended_updated ON ended (status, updated_us, id);
    END IF;
    IF to_regclass('parked_updated') IS NULL THEN
        CREATE INDEX parked_updated ON parked (updated_us, id);
    END IF;
    IF to_regclass('ready_updated') IS NULL THEN
        CREATE INDEX ready_updated ON ready (updated_us, id) WHERE updated_us IS NOT NULL;
    END IF;
END $$;

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0020_updated', 'Indexes for lists in the order of the last change.', now())
ON CONFLICT (id) DO NOTHING;
