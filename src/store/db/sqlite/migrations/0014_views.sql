-- The views of PostgreSQL, ids of events, and words for those who change a view.
--
-- Columns are as on PostgreSQL. There the JSON columns are jsonb; here they are text, for the
-- functions and operators of SQLite's JSON.

-- As in 0009; metadata is never null.
DROP VIEW tasks;

CREATE VIEW tasks AS
    SELECT u.uuid AS id, l.namespace, l.type, coalesce(t.name, l.type) AS name, n.name AS status,
           coalesce(s.state, n.state) AS state, coalesce(s.progress, 0) AS progress,
           -t.rank AS priority, t.input, s.output,
           s.error, coalesce(s.metadata, t.metadata, '{}') AS metadata, t.spec,
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
           strftime('%Y-%m-%dT%H:%M:%fZ', s.deleted_us / 1e6, 'unixepoch') AS deleted_at,
           (SELECT '[' || coalesce(group_concat('"' || uuid || '"'), '') || ']'
            FROM (SELECT i.uuid FROM task_dep d JOIN task_id i ON i.id = d.needs
                  WHERE d.task = t.id ORDER BY d.needs)) AS depends_on
    FROM task_standing s
    CROSS JOIN task t ON t.id = s.id
    JOIN task_id u ON u.id = t.id
    JOIN lane l ON l.id = t.lane
    JOIN status_name n ON n.status = s.status
    LEFT JOIN task_id p ON p.id = t.parent
    LEFT JOIN team tm ON tm.id = t.team;

-- As in 0010, with an id, and with the state of each event. The id is the event's time in
-- milliseconds, a version of 8, the microseconds, and the key of the task (src/model/id.c).
DROP VIEW task_events;

CREATE VIEW task_events AS
    SELECT printf('%08x-%04x-8%03x-%04x-%012x', x.at_us / 1000 >> 16, x.at_us / 1000 & 0xffff,
                  (x.at_us % 1000 << 2) | (length(x.what) & 3),
                  0x8000 | ((length(x.what) >> 2 & 3) << 12) | (x.task >> 48 & 0xfff),
                  x.task & 0xffffffffffff) AS id,
           u.uuid AS task_id, x.what, n.name AS status, coalesce(x.state, n.state) AS state,
           CASE x.actor WHEN 0 THEN 'API' WHEN 1 THEN 'WORKER' ELSE 'SYSTEM' END AS actor,
           x.worker AS worker_id, x.detail,
           strftime('%Y-%m-%dT%H:%M:%fZ', x.at_us / 1e6, 'unixepoch') AS created_at
    FROM (SELECT task, at_us, what, status, actor, state, worker, detail FROM event
          UNION ALL
          SELECT t.id, t.created_us, 'created', CASE WHEN s.flags & 16384 THEN 3 ELSE 0 END, 0,
                 'Queued', NULL,
                 json_patch('{}', json_object('type', l.type, 'priority', -t.rank, 'maxAttempts',
                                              t.max_attempts, 'idempotencyKey', t.key))
          FROM task t JOIN task_standing s ON s.id = t.id JOIN lane l ON l.id = t.lane
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

CREATE VIEW task_deps AS
    SELECT t.uuid AS task_id, n.uuid AS depends_on
    FROM task_dep d JOIN task_id t ON t.id = d.task JOIN task_id n ON n.id = d.needs;

CREATE VIEW resources AS
    SELECT r.name, r.max_concurrency,
           (SELECT count(*) FROM hold h WHERE h.resource = r.id) AS in_use
    FROM resource r;

-- As in 0005, without a name that must be quoted.
DROP VIEW task_joins;

CREATE VIEW task_joins AS
    SELECT namespace, workflow, name AS join_name, key, round, members,
           strftime('%Y-%m-%dT%H:%M:%fZ', updated_us / 1e6, 'unixepoch') AS updated_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', deadline_us / 1e6, 'unixepoch') AS deadline,
           last_outcome, last_task, last_error
    FROM join_state;

CREATE TRIGGER tasks_insert INSTEAD OF INSERT ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: submit a task with `faina submit TYPE INPUT`');
END;
CREATE TRIGGER tasks_update INSTEAD OF UPDATE ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: `faina cancel`, `retry` and `complete` change a task');
END;
CREATE TRIGGER tasks_delete INSTEAD OF DELETE ON tasks BEGIN
    SELECT RAISE(ABORT, 'tasks is a view: `faina rm ID` removes a task');
END;
