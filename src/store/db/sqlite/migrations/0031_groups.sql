-- Fair share: groups of tasks take turns (queue/turns.h).

ALTER TABLE task ADD COLUMN fair_group TEXT; -- null: none
CREATE INDEX task_group ON task (fair_group) WHERE fair_group IS NOT NULL;

-- The order of claiming within a lane and rank, of tasks with a group; null: it is the id.
ALTER TABLE ready ADD COLUMN turn INTEGER;
CREATE INDEX ready_turn ON ready (lane, rank, turn) WHERE turn IS NOT NULL;

-- The turns that groups have got. The row with the name '' is about the lane and rank itself.
CREATE TABLE group_turn (
    lane  INTEGER NOT NULL,
    rank  INTEGER NOT NULL,
    name  TEXT NOT NULL,
    last  INTEGER NOT NULL, -- the last turn; in the row '' the greatest one
    phase INTEGER NOT NULL, -- in the row '': the place in the round of the next new group; else 0
    PRIMARY KEY (lane, rank, name)
) WITHOUT ROWID;
CREATE INDEX group_turn_last ON group_turn (lane, rank, last);

-- As in 0020, with the group. The triggers go with the view.
DROP VIEW tasks;

CREATE VIEW tasks AS
    SELECT u.uuid AS id, l.namespace, l.type, coalesce(t.name, l.type) AS name, n.name AS status,
           coalesce(s.state, n.state) AS state, coalesce(s.progress, 0) AS progress,
           -t.rank AS priority, t.input, s.output,
           s.error, coalesce(s.metadata, t.metadata, '{}') AS metadata,
           coalesce(t.spec, '{}') AS spec,
           t.key AS idempotency_key, t.input_hash, coalesce(s.attempts, 0) AS attempts,
           t.max_attempts,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(CASE WHEN s.status = 0 THEN s.at_us END,
                                                   t.run_at_us) / 1e6, 'unixepoch') AS run_at,
           CASE WHEN s.status IN (1, 2) THEN s.worker END AS worker_id,
           strftime('%Y-%m-%dT%H:%M:%fZ', CASE WHEN s.status IN (1, 2) THEN s.at_us END / 1e6,
                    'unixepoch') AS lease_expires_at,
           p.uuid AS parent_id, ltrim(l.resources) AS resources, tm.id AS team_id, t.created_by,
           strftime('%Y-%m-%dT%H:%M:%fZ', CASE WHEN s.status = 4 THEN s.at_us END / 1e6,
                    'unixepoch') AS expires_at,
           coalesce(s.version, 1) AS version, coalesce(s.fence, 0) AS fence,
           strftime('%Y-%m-%dT%H:%M:%fZ', t.created_us / 1e6, 'unixepoch') AS created_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(s.updated_us, t.created_us) / 1e6, 'unixepoch')
               AS updated_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.claimed_us / 1e6, 'unixepoch') AS claimed_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.started_us / 1e6, 'unixepoch') AS started_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.completed_us / 1e6, 'unixepoch') AS completed_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', s.deleted_us / 1e6, 'unixepoch') AS deleted_at,
           (SELECT '[' || coalesce(group_concat('"' || uuid || '"'), '') || ']'
            FROM (SELECT i.uuid FROM task_dep d JOIN task_id i ON i.id = d.needs
                  WHERE d.task = t.id ORDER BY d.needs)) AS depends_on,
           t.fair_group AS task_group
    FROM task_standing s
    CROSS JOIN task t ON t.id = s.id
    JOIN task_id u ON u.id = t.id
    JOIN lane l ON l.id = t.lane
    JOIN status_name n ON n.status = s.status
    LEFT JOIN task_id p ON p.id = t.parent
    LEFT JOIN team tm ON tm.id = t.team;

CREATE TRIGGER tasks_insert INSTEAD OF INSERT ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: submit a task with `faina submit TYPE INPUT`');
END;
CREATE TRIGGER tasks_update INSTEAD OF UPDATE ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: `faina cancel`, `retry` and `complete` change a task');
END;
CREATE TRIGGER tasks_delete INSTEAD OF DELETE ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: `faina rm ID` removes a task');
END;
