-- The view of events tells what was asked for when a task was made.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- As in 0001, with a detail for `created`.
CREATE OR REPLACE VIEW task_events AS
    SELECT task_uuid(t.id, t.tail) AS task_id, x.what, n.name AS status, x.state,
           CASE x.actor WHEN 0 THEN 'API' WHEN 1 THEN 'WORKER' ELSE 'SYSTEM' END AS actor,
           x.worker AS worker_id, x.detail::json AS detail, us_to_time(x.at_us) AS created_at
    FROM (SELECT task, at_us, what, status, actor, state, worker, detail FROM event
          UNION ALL
          SELECT c.id, c.created_us, 'created',
                 CASE WHEN s.flags & 16384 <> 0 THEN 3 ELSE 0 END::smallint, 0::smallint, 'Queued',
                 NULL,
                 json_strip_nulls(json_build_object('type', l.type, 'priority', -c.rank,
                                                    'maxAttempts', c.max_attempts,
                                                    'idempotencyKey', c.key))::text
          FROM task c JOIN task_standing s ON s.id = c.id JOIN lane l ON l.id = c.lane
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1::smallint, 1::smallint, NULL, worker, NULL
          FROM held WHERE flags & 16 <> 0
          UNION ALL
          SELECT id, claimed_us, 'claimed', 1::smallint, 1::smallint, NULL, worker, NULL
          FROM ended WHERE flags & 16 <> 0
          UNION ALL
          SELECT id, started_us, 'started', 2::smallint, (worker IS NOT NULL)::int::smallint, NULL,
                 worker, NULL
          FROM held WHERE flags & 32 <> 0
          UNION ALL
          SELECT id, started_us, 'started', 2::smallint, (worker IS NOT NULL)::int::smallint, NULL,
                 worker, NULL
          FROM ended WHERE flags & 32 <> 0
          UNION ALL
          SELECT id, completed_us,
                 CASE status WHEN 5 THEN 'completed' WHEN 6 THEN 'failed'
                             WHEN 7 THEN 'dead_letter' ELSE 'cancelled' END,
                 status, ((flags >> 8) & 3)::smallint, state,
                 CASE WHEN status <> 8 THEN worker END, CASE WHEN status <> 8 THEN error END
          FROM ended) x
    JOIN task t ON t.id = x.task
    JOIN status_name n ON n.status = x.status;
