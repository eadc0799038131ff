-- What the engine can't handle, and leaves out until it is mended.
--
-- A damaged row, or a task with which every transaction fails, must not stop the others. The
-- statements that find work skip the items in this table until until_us; then they are retried. The
-- item itself is not changed. Times are microseconds since 1970.

CREATE TABLE IF NOT EXISTS set_aside (
    kind     text NOT NULL,    -- task, schedule, join, event, workflow, row, chore
    key      text NOT NULL,    -- which: of a task its row id, as text
    name     text,             -- for people: a task's id
    reason   text NOT NULL,    -- a sentence
    at_us    bigint NOT NULL,  -- when it was last set aside
    until_us bigint NOT NULL,  -- when it is tried again
    tries    bigint NOT NULL,  -- how often it was set aside
    PRIMARY KEY (kind, key)
);

SELECT revoke_public();
