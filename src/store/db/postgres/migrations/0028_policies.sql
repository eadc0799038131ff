-- How long an attempt may run, and when a task must have started.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- Of an attempt; null: that of its type.
ALTER TABLE task ADD COLUMN IF NOT EXISTS timeout_ms bigint;
-- It expires if it has not started by then.
ALTER TABLE task ADD COLUMN IF NOT EXISTS start_by_us bigint;
-- When the attempt has timed out; null: never.
ALTER TABLE held ADD COLUMN IF NOT EXISTS deadline_us bigint;

-- When the engine must look at a task that no other table has a time for. Kind 0: start_by_us.
CREATE TABLE IF NOT EXISTS timer (
    at_us bigint NOT NULL,
    task  bigint NOT NULL,
    kind  bigint NOT NULL,
    PRIMARY KEY (at_us, task, kind)
);

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0028_policies', 'How long an attempt may run, and when a task must have started.', now())
ON CONFLICT (id) DO NOTHING;
