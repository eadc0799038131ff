-- Policies of types, and what is known of workers that could handle their tasks.

CREATE TABLE type_policy (
    namespace     TEXT NOT NULL,
    folded        TEXT NOT NULL,    -- the type in lower case
    type          TEXT NOT NULL,    -- as it was written
    max_attempts  INTEGER,          -- null: not set, as in all that follow; 0: no limit
    retry_base_ms INTEGER,
    retry_factor  REAL,
    retry_max_ms  INTEGER,
    timeout_ms    INTEGER,
    start_by_ms   INTEGER,
    priority      INTEGER,
    resources     TEXT,             -- JSON array of names
    unhandled_ms  INTEGER,
    input_schema  TEXT,             -- JSON Schema
    updated_us    INTEGER NOT NULL,
    version       INTEGER NOT NULL, -- +1 with each change
    PRIMARY KEY (namespace, folded)
) WITHOUT ROWID;

-- Grows with each change of the table above: nodes that keep policies in memory compare it.
CREATE TABLE type_policy_generation (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    n   INTEGER NOT NULL
);
INSERT INTO type_policy_generation (one, n) VALUES (1, 1);

-- Workers that claim tasks, while some type has a policy with unhandled_ms. They may not be in the
-- table worker.
CREATE TABLE claimer (
    worker     TEXT PRIMARY KEY,
    types      TEXT,            -- JSON array of names, as in the table worker
    services   TEXT,
    namespaces TEXT,
    until_us   INTEGER NOT NULL -- it counts as alive until then, and as long as it holds a task
) WITHOUT ROWID;

-- Lanes with ready tasks that no live worker handles.
CREATE TABLE unhandled (
    lane     INTEGER PRIMARY KEY,
    since_us INTEGER NOT NULL
);
