-- Schedules: tasks that are made again and again.
--
-- The leader creates the tasks that are due, in the transaction that advances next_us; the
-- idempotency key cron:NAME:TIME keeps a time from firing twice. Times are
-- microseconds since 1970.

CREATE TABLE cron (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    schedule   TEXT NOT NULL,    -- as in model/cron.h
    timezone   TEXT NOT NULL,    -- IANA name
    task       TEXT NOT NULL,    -- JSON: the body of a submit
    catch_up   INTEGER NOT NULL, -- after a downtime: 0 no task, 1 one task, 2 all of them
    overlap    INTEGER NOT NULL, -- while the task before lives: 0 one more, 1 none, 2 instead of it
    jitter_ms  INTEGER NOT NULL, -- each task waits up to this long besides
    paused     INTEGER NOT NULL, -- 1: it makes no tasks
    next_us    INTEGER,          -- null: never, or paused
    last_us    INTEGER,          -- the last time of the schedule that made a task
    problem    TEXT,             -- why the last time made none; null: it did
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    version    INTEGER NOT NULL, -- grows with each change by a user
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

CREATE INDEX cron_next ON cron (next_us) WHERE next_us IS NOT NULL;
