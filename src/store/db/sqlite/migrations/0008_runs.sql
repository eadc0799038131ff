-- A row of `ready` may stand for several tasks that nobody has touched: a run. Its id is the first
-- one's; `run` has all of them, as offsets from it. Null: the row stands for one task.

ALTER TABLE ready ADD COLUMN run TEXT;

DROP VIEW task_standing;

CREATE VIEW task_standing AS
    SELECT r.lane, CAST(r.id + coalesce(n.value, 0) AS INTEGER) AS id, 0 AS status,
           r.run_at_us AS at_us, r.version, r.fence, r.attempts, r.flags, r.progress, r.state,
           r.updated_us, r.claimed_us, r.started_us, NULL AS completed_us, NULL AS deleted_us,
           NULL AS worker, r.error, r.metadata, NULL AS output
    FROM ready r LEFT JOIN json_each(r.run) n
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

-- As before, but for the order of the tables, which SQLite no longer guesses right.
DROP VIEW tasks;

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
    FROM task_standing s
    CROSS JOIN task t ON t.id = s.id
    JOIN task_id u ON u.id = t.id
    JOIN lane l ON l.id = t.lane
    JOIN status_name n ON n.status = s.status
    LEFT JOIN task_id p ON p.id = t.parent
    LEFT JOIN team tm ON tm.id = t.team;
