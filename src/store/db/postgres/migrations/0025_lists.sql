-- Indexes for lists by priority and by the time to run at.
--
-- Most tasks have priority 0 and no such time: they are in none of them, and are listed by id.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- IF NOT EXISTS would lock a table whose index is there.
DO $$ BEGIN
    IF to_regclass('task_rank') IS NULL THEN
        CREATE INDEX task_rank ON task (rank, id) WHERE rank <> 0;
    END IF;
    IF to_regclass('task_run_at') IS NULL THEN
        CREATE INDEX task_run_at ON task (run_at_us, id) WHERE run_at_us IS NOT NULL;
    END IF;
    IF to_regclass('ready_run_at') IS NULL THEN
        CREATE INDEX ready_run_at ON ready (run_at_us, id) WHERE run_at_us IS NOT NULL;
    END IF;
END $$;

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0025_lists', 'Indexes for lists by priority and by the time to run at.', now())
ON CONFLICT (id) DO NOTHING;
