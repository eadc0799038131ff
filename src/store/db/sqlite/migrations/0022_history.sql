-- What was submitted, ended and waited for, by type and minute, and later by hour.
--
-- `seq` is the time, a number of the process that wrote the row, and the row's number
-- (txn/history_log.h). Rows of one type and time are added up. The type is in lower case; '' stands
-- for all types, and with the namespace '' for everything.

CREATE TABLE history (
    seq         INTEGER PRIMARY KEY,
    at_us       INTEGER NOT NULL, -- the beginning of the minute or hour
    namespace   TEXT NOT NULL,
    type        TEXT NOT NULL,
    submitted   INTEGER NOT NULL,
    completed   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    dead_letter INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL,
    retried     INTEGER NOT NULL,
    waits       TEXT NOT NULL,    -- histograms (model/histogram.h)
    runs        TEXT NOT NULL,
    waiting     INTEGER,          -- tasks at the end of the time; null: not known here
    running     INTEGER,
    oldest_ms   INTEGER           -- the longest that a ready task had waited
);
CREATE INDEX history_type ON history (type, namespace, seq);
