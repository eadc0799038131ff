-- The view of events tells what was asked for when a task was made.

-- As in 0001, with a detail for `created`; json_patch leaves out what is null.
DROP VIEW task_events;

CREATE VIEW task_events AS
    SELECT u.uuid AS task_id, x.what, n.name AS status, x.state,
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
