-- What an empty store has none of: tasks, teams, pauses, schedules, and the names that
-- tasks left behind.
SELECT EXISTS (SELECT 1 FROM task WHERE id > 0), EXISTS (SELECT 1 FROM team),
       EXISTS (SELECT 1 FROM paused), EXISTS (SELECT 1 FROM resource), EXISTS (SELECT 1 FROM lane),
       EXISTS (SELECT 1 FROM cron)
