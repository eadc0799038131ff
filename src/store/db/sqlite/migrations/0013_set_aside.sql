-- What the engine can't handle, and leaves out until it is mended.
--
-- A damaged row, or a task with which every transaction fails, must not stop the others. The
-- statements that find work skip the items in this table until until_us; then they are retried. The
-- item itself is not changed. Times are microseconds since 1970.

CREATE TABLE set_aside (
    kind     TEXT NOT NULL,    -- task, schedule, join, event, workflow, row, chore
    key      TEXT NOT NULL,    -- which: of a task its row id, as text
    name     TEXT,             -- for people: a task's id
    reason   TEXT NOT NULL,    -- a sentence
    at_us    INTEGER NOT NULL, -- when it was last set aside
    until_us INTEGER NOT NULL, -- when it is tried again
    tries    INTEGER NOT NULL, -- how often it was set aside
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- As in 0008; a run that is no list of numbers counts as its first task.
DROP VIEW task_standing;

CREATE VIEW task_standing AS
    SELECT r.lane, CAST(r.id + coalesce(n.value, 0) AS INTEGER) AS id, 0 AS status,
           r.run_at_us AS at_us, r.version, r.fence, r.attempts, r.flags, r.progress, r.state,
           r.updated_us, r.claimed_us, r.started_us, NULL AS completed_us, NULL AS deleted_us,
           NULL AS worker, r.error, r.metadata, NULL AS output
    FROM ready r
    LEFT JOIN json_each(CASE WHEN r.run GLOB '[[]0*[0-9]]' AND r.run NOT GLOB '*,,*'
                                  AND substr(r.run, 2, length(r.run) - 2) NOT GLOB '*[^0-9,]*'
                             THEN r.run END) n
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
