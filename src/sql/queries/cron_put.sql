-- Stores a schedule, new or changed; gives its version, unless somebody has changed it meanwhile.
INSERT INTO cron (namespace, name, schedule, timezone, task, catch_up, overlap, jitter_ms, paused,
                  next_us, last_us, problem, created_us, updated_us, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (namespace, name)
    DO UPDATE SET schedule = excluded.schedule, timezone = excluded.timezone, task = excluded.task,
                  catch_up = excluded.catch_up, overlap = excluded.overlap,
                  jitter_ms = excluded.jitter_ms, paused = excluded.paused,
                  next_us = excluded.next_us, problem = excluded.problem,
                  updated_us = excluded.updated_us, version = excluded.version
    WHERE cron.version = excluded.version - 1
RETURNING version
