-- Operations on many tasks, which run in slices.

CREATE TABLE operation (
    id         TEXT PRIMARY KEY,
    kind       INTEGER NOT NULL, -- enum fa_bulk_kind
    status     INTEGER NOT NULL, -- enum fa_bulk_status; 0: it runs
    counted    INTEGER NOT NULL, -- 1: all tasks of the filter are counted
    namespace  TEXT NOT NULL,    -- of the filter; '*': all
    request    TEXT NOT NULL,    -- JSON: the body of the request
    position   TEXT,             -- counting, or then acting, goes on there; null: from the start
    matched    INTEGER NOT NULL,
    done       INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    created_by TEXT,             -- the name of a token; null: there was none
    error      TEXT,             -- why it failed
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    ended_us   INTEGER           -- null: it runs
) WITHOUT ROWID;
CREATE INDEX operation_running ON operation (id) WHERE status = 0;
