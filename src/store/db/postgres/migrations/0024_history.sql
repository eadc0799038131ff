-- What was submitted, ended and waited for, by type and minute, and later by hour.
--
-- `seq` is the time, a number of the process that wrote the row, and the row's number
-- (txn/history_log.h). Rows of one type and time are added up. The type is in lower case; '' stands
-- for all types, and with the namespace '' for everything.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS history (
    seq         bigint PRIMARY KEY,
    at_us       bigint NOT NULL, -- the beginning of the minute or hour
    namespace   text NOT NULL,
    type        text NOT NULL,
    submitted   bigint NOT NULL,
    completed   bigint NOT NULL,
    failed      bigint NOT NULL,
    dead_letter bigint NOT NULL,
    cancelled   bigint NOT NULL,
    retried     bigint NOT NULL,
    waits       text NOT NULL,   -- histograms (model/histogram.h)
    runs        text NOT NULL,
    waiting     bigint,          -- tasks at the end of the time; null: not known here
    running     bigint,
    oldest_ms   bigint           -- the longest that a ready task had waited
);
DO $$ BEGIN
    IF to_regclass('history_type') IS NULL THEN
        CREATE INDEX history_type ON history (type, namespace, seq);
    END IF;
END $$;

-- When another role applies this step, the owner of the other tables has this one, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE history OWNER TO %I', owner);
    END IF;
END $$;

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0024_history',
     'What was submitted, ended and waited for, by type and minute, and later by hour.', now())
ON CONFLICT (id) DO NOTHING;
