-- Failures that are alike, counted: one type, one kind and alike messages.

CREATE TABLE failure_group (
    id        INTEGER PRIMARY KEY, -- a hash of namespace, type, kind and message
    namespace TEXT NOT NULL,
    type      TEXT NOT NULL,
    kind      TEXT NOT NULL,       -- '': none
    message   TEXT NOT NULL,
    count     INTEGER NOT NULL,
    first_us  INTEGER NOT NULL,
    last_us   INTEGER NOT NULL,
    tasks     TEXT NOT NULL        -- the ids of the last ones, each followed by a space
);
CREATE INDEX failure_group_last ON failure_group (namespace, last_us);
