-- The outbox: messages for a broker, stored by the transactions that they report.
--
-- A row is added when a task becomes ready and when it ends, while `broker.is_on` is not 0. The
-- publisher removes rows when the broker has confirmed their messages. Times are microseconds
-- since 1970.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS broker (
    one        integer PRIMARY KEY CHECK (one = 1),
    is_on      bigint NOT NULL,  -- whether rows are written
    size_max   bigint NOT NULL,  -- more rows than this: the oldest are dropped
    unroutable bigint NOT NULL,  -- messages that no queue was bound for, so far
    dropped    bigint NOT NULL,  -- rows that were dropped, so far
    publisher  text,             -- the node that publishes ...
    until_us   bigint            -- ... until then, unless it renews this
);
INSERT INTO broker (one, is_on, size_max, unroutable, dropped) VALUES (1, 0, 10000000, 0, 0)
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS outbox (
    seq       bigserial PRIMARY KEY, -- the order of publishing
    task      bigint NOT NULL,       -- the task's id: its first part ...
    tail      bigint NOT NULL,       -- ... and the rest
    namespace text NOT NULL,
    type      text NOT NULL,
    status    bigint NOT NULL,       -- 0: it is ready; else how it ended
    attempt   bigint NOT NULL,
    priority  bigint NOT NULL,
    version   bigint NOT NULL,
    at_us     bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Fails a transaction whose node has an old value of the setting; the node then reads the setting
-- and runs the transaction again.
CREATE OR REPLACE FUNCTION broker_check(expected bigint) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    IF (SELECT b.is_on FROM broker b) <> expected THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
            MESSAGE = 'the broker was switched on or off meanwhile';
    END IF;
END $$;

-- Tasks that are submitted in SQL and ready.
CREATE OR REPLACE FUNCTION submit_announce(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    IF (SELECT b.is_on FROM broker b) <> 0 THEN
        INSERT INTO outbox (task, tail, namespace, type, status, attempt, priority, version, at_us)
        SELECT n.id, n.tail, l.namespace, l.type, 0, 1, -n.rank, 1, now_us
        FROM unnest(tasks) AS n JOIN lane l ON l.id = n.lane
        WHERE NOT n.existing AND n.at_us IS NULL
        ORDER BY n.id;
    END IF;
END $$;

-- As in 0005, and the outbox.
CREATE OR REPLACE FUNCTION submit_store(tasks new_task[], now_us bigint)
RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
    parked_count bigint;
    due_us bigint;
    stored bigint;
BEGIN
    INSERT INTO task (id, tail, created_us, lane, rank, max_attempts, run_at_us, retry_base_ms,
                      retry_max_ms, retry_factor, input, name, metadata, spec, key, team,
                      created_by)
    SELECT n.id, n.tail, now_us, n.lane, n.rank, n.max_attempts, n.run_at_us, n.retry_base_ms,
           n.retry_max_ms, n.retry_factor, n.input, n.name, n.metadata, n.spec, n.key, n.team,
           n.created_by
    FROM unnest(tasks) AS n WHERE NOT n.existing;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored = 0 THEN
        RETURN;
    END IF;

    -- A row in line is all nulls when the task has nothing that a claim must look at.
    INSERT INTO ready (lane, rank, id, version, fence, attempts, flags, progress, updated_us)
    SELECT n.lane, n.rank, n.id, 1 * m.more, 0 * m.more, 0 * m.more, n.flags * m.more, 0 * m.more,
           now_us * m.more
    FROM unnest(tasks) AS n
    CROSS JOIN LATERAL (
        SELECT CASE WHEN n.flags <> 0 OR coalesce(n.metadata, n.spec, n.team, n.created_by)
                         IS NOT NULL OR coalesce(n.run_at_us, n.retry_base_ms, n.retry_max_ms)
                         IS NOT NULL OR n.retry_factor IS NOT NULL THEN 1 END AS more) AS m
    WHERE NOT n.existing AND n.at_us IS NULL;
    GET DIAGNOSTICS parked_count = ROW_COUNT;
    parked_count := stored - parked_count;
    IF parked_count < stored THEN
        PERFORM submit_announce(tasks, now_us);
        PERFORM pg_notify('task_available', current_schema());
    END IF;

    IF parked_count > 0 THEN
        INSERT INTO parked (id, at_us, version, fence, attempts, flags, deps_left, deps_bad,
                            updated_us, lane, progress, status)
        SELECT n.id, n.at_us, 1, 0, 0, n.flags, n.deps_left, n.deps_bad, now_us, n.lane, 0,
               n.status
        FROM unnest(tasks) AS n WHERE NOT n.existing AND n.at_us IS NOT NULL;
        SELECT min(n.at_us) INTO due_us FROM unnest(tasks) AS n WHERE NOT n.existing;
        PERFORM pg_notify('task_due', format('%s %s', current_schema(), due_us));
    END IF;
    INSERT INTO task_dep (task, needs)
    SELECT n.id, need FROM unnest(tasks) AS n, unnest(n.needs) AS need WHERE NOT n.existing;

    INSERT INTO tally (lane, status, shard, n)
    SELECT n.lane, n.status, min(min(n.id)) OVER (), count(*)
    FROM unnest(tasks) AS n WHERE NOT n.existing
    GROUP BY n.lane, n.status;

    -- The lines that src/store/txn/unit.c writes: task, time, status, what.
    INSERT INTO log (at_us, events)
    SELECT now_us, string_agg(format('%s %s %s created', to_hex(n.id), to_hex(now_us), n.status),
                              E'\n' ORDER BY n.id) || E'\n'
    FROM unnest(tasks) AS n WHERE NOT n.existing
    HAVING count(*) > 0;
END $$;

-- For everybody ----------------------------------------------------------------------------------

-- When another role applies this step, the owner of the other tables has these, too.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
    item text;
BEGIN
    IF owner <> current_user THEN
        FOREACH item IN ARRAY ARRAY['broker', 'outbox'] LOOP
            EXECUTE format('ALTER TABLE %I OWNER TO %I', item, owner);
        END LOOP;
        FOREACH item IN ARRAY ARRAY['broker_check', 'submit_announce', 'submit_store'] LOOP
            EXECUTE format('ALTER FUNCTION %I OWNER TO %I', item, owner);
        END LOOP;
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0019_outbox',
     'The outbox: messages for a broker, stored by the transactions that they report.', now())
ON CONFLICT (id) DO NOTHING;
