-- The audit: administrative acts, and what people did to tasks.

-- Each entry has the hash of the one before.
CREATE TABLE audit (
    id            INTEGER PRIMARY KEY, -- 1, 2, 3, ... without gaps
    at_us         INTEGER NOT NULL,
    who           TEXT,                -- the name of a token or user; null: there was none
    act           TEXT NOT NULL,
    target        TEXT,
    reason        TEXT,
    request_id    TEXT,
    previous_hash TEXT,                -- null: the first entry
    hash          TEXT NOT NULL
);

-- What shows that entries at the end are missing. One row.
CREATE TABLE audit_head (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    count    INTEGER NOT NULL,
    hash     TEXT
);
INSERT INTO audit_head (only_row, count) VALUES (1, 0);
