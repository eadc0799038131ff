-- Tables of the engine, and views for people.
--
-- A task is one immutable row in `task` (its submit) and one row in exactly one of ready, held,
-- parked and ended (its status). The table is its state:
--
--     submit -> ready --claim--> held --complete, fail--> ended
--                 ^                |
--                 '---- parked <---'      not yet due, blocked, background
--
-- Payloads are written once. Rows that change at each step are narrow, and a claim reads no ended
-- tasks. Times are microseconds since 1970 UTC. Statuses are numbered as in faina.h.

CREATE TABLE lane (
    id        INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    type      TEXT NOT NULL,
    resources TEXT NOT NULL, -- JSON array of names, sorted
    UNIQUE (namespace, type, resources)
);

CREATE TABLE task (
    id             INTEGER PRIMARY KEY, -- first 60 bits of the UUIDv7: time order, so it appends
    tail           INTEGER NOT NULL,    -- its 62 random bits
    lane           INTEGER NOT NULL,
    rank           INTEGER NOT NULL,    -- minus the priority: ascending is best first
    created_us     INTEGER NOT NULL,
    max_attempts   INTEGER NOT NULL,    -- 0: no limit
    input          TEXT,
    run_at_us      INTEGER,
    name           TEXT,                -- null: the type
    metadata       TEXT,
    spec           TEXT,
    key            TEXT,
    input_hash     TEXT,
    parent         INTEGER,
    child          TEXT,                -- its name among its siblings
    depth          INTEGER,
    team           TEXT,
    created_by     TEXT,
    retry_base_ms  INTEGER,
    retry_factor   REAL,
    retry_max_ms   INTEGER
);
CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
CREATE INDEX task_team ON task (team) WHERE team IS NOT NULL;
CREATE INDEX task_created_by ON task (created_by) WHERE created_by IS NOT NULL;

-- Pending and due: what a claim may take, in its order.
CREATE TABLE ready (
    lane       INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    -- How it stands. Null everywhere in a task that nobody has touched yet.
    version    INTEGER,
    fence      INTEGER,
    attempts   INTEGER,
    flags      INTEGER,
    progress   INTEGER,
    state      TEXT,
    updated_us INTEGER,
    claimed_us INTEGER,
    started_us INTEGER,
    error      TEXT,
    metadata   TEXT,
    run_at_us  INTEGER, -- when it came due, after a backoff
    PRIMARY KEY (lane, rank, id)
) WITHOUT ROWID;

-- Claimed and running. As small as the number of tasks under way, so the few that lose their
-- lease are found by reading it whole.
CREATE TABLE held (
    id         INTEGER PRIMARY KEY,
    tail       INTEGER NOT NULL,
    lane       INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    flags      INTEGER NOT NULL,
    progress   INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    claimed_us INTEGER,
    started_us INTEGER,
    lease_us   INTEGER,
    worker     TEXT,
    state      TEXT,
    error      TEXT,
    metadata   TEXT
);

-- Not yet due, blocked, or in the background. `at_us` is when the engine must look at it again.
CREATE TABLE parked (
    id         INTEGER PRIMARY KEY,
    lane       INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    at_us      INTEGER,
    version    INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    flags      INTEGER NOT NULL,
    deps_left  INTEGER NOT NULL, -- how many it still waits for
    deps_bad   INTEGER NOT NULL, -- how many of them ended badly
    progress   INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    claimed_us INTEGER,
    started_us INTEGER,
    state      TEXT,
    error      TEXT,
    metadata   TEXT
);
CREATE INDEX parked_at ON parked (at_us) WHERE at_us IS NOT NULL;

CREATE TABLE ended (
    id           INTEGER PRIMARY KEY,
    lane         INTEGER NOT NULL,
    status       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    fence        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    flags        INTEGER NOT NULL,
    progress     INTEGER NOT NULL,
    updated_us   INTEGER NOT NULL,
    claimed_us   INTEGER,
    started_us   INTEGER,
    completed_us INTEGER NOT NULL,
    deleted_us   INTEGER,
    worker       TEXT,
    state        TEXT,
    error        TEXT,
    metadata     TEXT,
    output       TEXT
);
-- Most tasks complete; this finds the others.
CREATE INDEX ended_badly ON ended (status) WHERE status <> 5;

-- Who has a key: the first 64 bits of a hash over its kind and scope. The task row decides.
CREATE TABLE task_key (
    hash INTEGER NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (hash, task)
) WITHOUT ROWID;

-- `task` waits, or waited, for `needs`.
CREATE TABLE task_dep (
    task  INTEGER NOT NULL,
    needs INTEGER NOT NULL,
    PRIMARY KEY (task, needs)
) WITHOUT ROWID;
CREATE INDEX task_dep_needs ON task_dep (needs, task);

-- What happened that no row above tells: creation, and the claim, start and end of the latest
-- attempt, are read from the task's own rows (view task_events).
CREATE TABLE event (
    task   INTEGER NOT NULL,
    at_us  INTEGER NOT NULL, -- grows within the task
    what   TEXT NOT NULL,
    status INTEGER NOT NULL,
    actor  INTEGER NOT NULL,
    state  TEXT,
    worker TEXT,
    detail TEXT,
    PRIMARY KEY (task, at_us, what)
) WITHOUT ROWID;

CREATE TABLE resource (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL UNIQUE,
    max_concurrency INTEGER,          -- null: no limit
    is_set          INTEGER NOT NULL  -- 0: only ever named by tasks
);

-- One row per permit taken.
CREATE TABLE hold (
    resource INTEGER NOT NULL,
    task     INTEGER NOT NULL,
    PRIMARY KEY (resource, task)
) WITHOUT ROWID;

CREATE TABLE paused (
    namespace TEXT NOT NULL,
    type      TEXT NOT NULL,
    PRIMARY KEY (namespace, type)
) WITHOUT ROWID;

CREATE TABLE team (
    id         TEXT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    spec       TEXT,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    UNIQUE (namespace, name)
) WITHOUT ROWID;

-- How many tasks there are, kept by every transaction that changes it.
CREATE TABLE tally (
    lane   INTEGER NOT NULL,
    status INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (lane, status)
) WITHOUT ROWID;

-- For people ------------------------------------------------------------------------------------

CREATE VIEW task_standing AS
    SELECT lane, id, 0 AS status, run_at_us AS at_us, version, fence, attempts, flags, progress,
           state,
           updated_us, claimed_us, started_us, NULL AS completed_us, NULL AS deleted_us,
           NULL AS worker, error, metadata, NULL AS output
    FROM ready
    UNION ALL
    SELECT lane, id, status, lease_us, version, fence, attempts, flags, progress, state,
           updated_us, claimed_us, started_us, NULL, NULL, worker, error, metadata, NULL
    FROM held
    UNION ALL
    SELECT lane, id, status, at_us, version, fence, attempts, flags, progress, state,
           updated_us, claimed_us, started_us, NULL, NULL, NULL, error, metadata, NULL
    FROM parked
    UNION ALL
    SELECT lane, id, status, NULL, version, fence, attempts, flags, progress, state,
           updated_us, claimed_us, started_us, completed_us, deleted_us, worker, error, metadata,
           output
    FROM ended;

CREATE VIEW task_id (id, uuid) AS
    SELECT id, printf('%08x-%04x-7%03x-%04x-%012x', id >> 28, (id >> 12) & 0xffff, id & 0xfff,
                      0x8000 | (tail >> 48), tail & 0xffffffffffff)
    FROM task;

CREATE VIEW status_name (status, name, state) AS
    VALUES (0, 'pending', 'Queued'), (1, 'claimed', 'Claimed'), (2, 'running', 'Running'),
           (3, 'blocked', 'Waiting for other tasks'), (4, 'background', 'In the background'),
           (5, 'completed', 'Completed'), (6, 'failed', 'Failed'),
           (7, 'dead_letter', 'Out of attempts'), (8, 'cancelled', 'Cancelled by user');

CREATE VIEW tasks AS
    SELECT u.uuid AS id, l.namespace, l.type, coalesce(t.name, l.type) AS name, n.name AS status,
           coalesce(s.state, n.state) AS state, coalesce(s.progress, 0) AS progress,
           -t.rank AS priority, t.input, s.output,
           s.error, coalesce(s.metadata, t.metadata) AS metadata, t.spec,
           t.key AS idempotency_key, t.input_hash, coalesce(s.attempts, 0) AS attempts,
           t.max_attempts,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(CASE WHEN s.status = 0 THEN s.at_us END,
                                                   t.run_at_us) / 1e6, 'unixepoch') AS run_at,
           CASE WHEN s.status IN (1, 2) THEN s.worker END AS worker_id,
           strftime('%Y-%m-%dT%H:%M:%fZ', CASE WHEN s.status IN (1, 2) THEN s.at_us END / 1e6,
                    'unixepoch') AS lease_expires_at,
           p.uuid AS parent_id, l.resources, tm.id AS team_id, t.created_by,
           strftime('%Y-%m-%dT%H:%M:%fZ', CASE WHEN s.status = 4 THEN s.at_us END / 1e6,
                    'unixepoch') AS expires_at,
           coalesce(s.version, 1) AS version, coalesce(s.fence, 0) AS fence,
           strftime('%Y-%m-%dT%H:%M:%fZ', t.created_us / 1e6, 'unixepoch') AS created_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(s.updated_us, t.created_us) / 1e6, 'unixepoch')
               AS updated_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.claimed_us / 1e6, 'unixepoch') AS claimed_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.started_us / 1e6, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.completed_us / 1e6, 'unixepoch') AS completed_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.deleted_us / 1e6, 'unixepoch') AS deleted_at
    FROM task t
    JOIN task_id u ON u.id = t.id
    JOIN lane l ON l.id = t.lane
    JOIN task_standing s ON s.id = t.id
    JOIN status_name n ON n.status = s.status
    LEFT JOIN task_id p ON p.id = t.parent
    LEFT JOIN team tm ON tm.id = t.team;

CREATE VIEW task_results AS
    SELECT u.uuid AS task_id, e.output AS payload,
           strftime('%Y-%m-%dT%H:%M:%fZ', e.completed_us / 1e6, 'unixepoch') AS created_at
    FROM ended e JOIN task_id u ON u.id = e.id
    WHERE e.output IS NOT NULL;

-- flags & 16: the claim, & 32: the start is told by the row itself; & 16384: it was blocked from
-- the first; (flags >> 8) & 3: who ended it.
CREATE VIEW task_events AS
    SELECT u.uuid AS task_id, x.what, n.name AS status, x.state,
           CASE x.actor WHEN 0 THEN 'API' WHEN 1 THEN 'WORKER' ELSE 'SYSTEM' END AS actor,
           x.worker AS worker_id, x.detail,
           strftime('%Y-%m-%dT%H:%M:%fZ', x.at_us / 1e6, 'unixepoch') AS created_at
    FROM (SELECT task, at_us, what, status, actor, state, worker, detail FROM event
          UNION ALL
          SELECT t.id, t.created_us, 'created', CASE WHEN s.flags & 16384 THEN 3 ELSE 0 END, 0,
                 'Queued', NULL, NULL
          FROM task t JOIN task_standing s ON s.id = t.id
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1, 1, NULL, worker, NULL FROM held WHERE flags & 16
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1, 1, NULL, worker, NULL FROM ended WHERE flags & 16
          UNION ALL
          SELECT id, started_us, 'started', 2, worker IS NOT NULL, NULL, worker, NULL
          FROM held WHERE flags & 32
          UNION ALL
          SELECT id, started_us, 'started', 2, worker IS NOT NULL, NULL, worker, NULL
          FROM ended WHERE flags & 32
          UNION ALL
          SELECT id, completed_us,
                 CASE status WHEN 5 THEN 'completed' WHEN 6 THEN 'failed'
                             WHEN 7 THEN 'dead_letter' ELSE 'cancelled' END,
                 status, (flags >> 8) & 3, state, CASE WHEN status <> 8 THEN worker END,
                 CASE WHEN status <> 8 THEN error END
          FROM ended) x
    JOIN task_id u ON u.id = x.task
    JOIN status_name n ON n.status = x.status;
