-- The log of what happened, in the order it was committed: for those who follow along.
--
-- Each transaction that changes tasks adds one row with all its events. `events` has a line for
-- each: task id and time in hexadecimal, status, name of the event. Rows are deleted after a while;
-- the history of a task is in task_events.

CREATE TABLE log (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us  INTEGER NOT NULL,
    events TEXT NOT NULL
);

-- The newest place that is no longer kept: who asks for one before it has missed something.
CREATE TABLE log_forgotten (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    xid INTEGER NOT NULL, -- 0; PostgreSQL has it
    seq INTEGER NOT NULL
);
