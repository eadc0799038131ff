-- A row of `ready` may stand for several tasks that nobody has touched: a run. Its id is the first
-- one's; `run` has all of them, as offsets from it. Null: the row stands for one task.

ALTER TABLE ready ADD COLUMN run TEXT;

DROP VIEW task_standing;

CREATE VIEW task_standing AS
    SELECT r.lane, r.id + coalesce(m.value, 0) AS id, 0 AS status, r.run_at_us AS at_us, r.version,
           r.fence, r.attempts, r.flags, r.progress, r.state,
           r.updated_us, r.claimed_us, r.started_us, NULL AS completed_us, NULL AS deleted_us,
           NULL AS worker, r.error, r.metadata, NULL AS output
    FROM ready r LEFT JOIN json_each(r.run) m
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
