-- The outbox: messages for a broker, stored by the transactions that they report.
--
-- A row is added when a task becomes ready and when it ends, while `broker.is_on` is not 0. The
-- publisher removes rows when the broker has confirmed their messages. Times are microseconds
-- since 1970.

CREATE TABLE broker (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    is_on      INTEGER NOT NULL,  -- whether rows are written
    size_max   INTEGER NOT NULL,  -- more rows than this: the oldest are dropped
    unroutable INTEGER NOT NULL,  -- messages that no queue was bound for, so far
    dropped    INTEGER NOT NULL,  -- rows that were dropped, so far
    publisher  TEXT,              -- the node that publishes ...
    until_us   INTEGER            -- ... until then, unless it renews this
);
INSERT INTO broker (one, is_on, size_max, unroutable, dropped) VALUES (1, 0, 10000000, 0, 0);

CREATE TABLE outbox (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of publishing; no number comes twice
    task      INTEGER NOT NULL,    -- the task's id: its first part ...
    tail      INTEGER NOT NULL,    -- ... and the rest
    namespace TEXT NOT NULL,
    type      TEXT NOT NULL,
    status    INTEGER NOT NULL,    -- 0: it is ready; else how it ended
    attempt   INTEGER NOT NULL,
    priority  INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    at_us     INTEGER NOT NULL
);
