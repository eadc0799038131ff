-- Schedules: tasks that are made again and again.
--
-- The leader creates the tasks that are due, in the transaction that advances next_us; the
-- idempotency key cron:NAME:TIME keeps a time from firing twice. Times are
-- microseconds since 1970.

CREATE TABLE IF NOT EXISTS cron (
    namespace  text NOT NULL,
    name       text NOT NULL,
    schedule   text NOT NULL,    -- as in model/cron.h
    timezone   text NOT NULL,    -- IANA name
    task       text NOT NULL,    -- JSON: the body of a submit
    catch_up   bigint NOT NULL,  -- after a downtime: 0 no task, 1 one task, 2 all of them
    overlap    bigint NOT NULL,  -- while the task before lives: 0 one more, 1 none, 2 instead of it
    jitter_ms  bigint NOT NULL,  -- each task waits up to this long besides
    paused     bigint NOT NULL,  -- 1: it makes no tasks
    next_us    bigint,           -- null: never, or paused
    last_us    bigint,           -- the last time of the schedule that made a task
    problem    text,             -- why the last time made none; null: it did
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    version    bigint NOT NULL,  -- grows with each change by a user
    PRIMARY KEY (namespace, name)
);

CREATE INDEX IF NOT EXISTS cron_next ON cron (next_us) WHERE next_us IS NOT NULL;
