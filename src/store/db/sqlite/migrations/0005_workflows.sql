-- Workflows: definitions, the events that happened, joins under way, and where tasks come from.
--
-- A task without a workflow uses none of these. Times are microseconds since 1970. Names of
-- triggers and joins are unique within a workflow.

CREATE TABLE workflow (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL, -- +1 with each change of the definition
    definition TEXT NOT NULL,    -- JSON, whatever it was written in
    enabled    INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- Grows with each change of the table above: who keeps definitions in memory compares it.
CREATE TABLE workflow_generation (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    n   INTEGER NOT NULL
);
INSERT INTO workflow_generation (one, n) VALUES (1, 1);

-- Events that were emitted, and ends of tasks that a trigger wanted. Kept for a while.
CREATE TABLE happened (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id        TEXT NOT NULL,
    type      TEXT NOT NULL,
    data      TEXT NOT NULL,
    at_us     INTEGER NOT NULL,
    tasks     TEXT NOT NULL, -- JSON array of the ids of the tasks that it made
    failures  TEXT NOT NULL, -- JSON array of {workflow, trigger, message}
    UNIQUE (namespace, id)
);
CREATE INDEX happened_at ON happened (at_us, seq);

-- What made a task. Tasks that were submitted have no row.
CREATE TABLE origin (
    task         INTEGER PRIMARY KEY,
    workflow     TEXT NOT NULL,
    trigger_name TEXT NOT NULL,    -- or the join's
    version      INTEGER NOT NULL, -- of the workflow
    event        TEXT NOT NULL,    -- id of the event; '' for a join that did not wait longer
    depth        INTEGER NOT NULL  -- how many tasks led to this one
);

-- One row per join and key, from the first member on.
CREATE TABLE join_state (
    namespace    TEXT NOT NULL,
    workflow     TEXT NOT NULL,
    name         TEXT NOT NULL,
    key          TEXT NOT NULL,    -- canonical JSON
    round        INTEGER NOT NULL, -- from 1
    members      TEXT NOT NULL,    -- JSON: {type: {id, status}}, {} between two rounds
    updated_us   INTEGER NOT NULL,
    deadline_us  INTEGER,
    last_outcome TEXT,             -- of the round before: fired, dropped, failed
    last_task    TEXT,             -- what it made
    last_error   TEXT,
    PRIMARY KEY (namespace, workflow, name, key)
) WITHOUT ROWID;
CREATE INDEX join_deadline ON join_state (deadline_us) WHERE deadline_us IS NOT NULL;
CREATE INDEX join_idle ON join_state (updated_us) WHERE members = '{}';

CREATE VIEW task_joins AS
SELECT namespace, workflow, name AS "join", key, round, members,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_us / 1000000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', deadline_us / 1000000.0, 'unixepoch') AS deadline,
       last_outcome, last_task, last_error
FROM join_state;
