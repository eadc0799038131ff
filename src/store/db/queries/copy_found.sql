-- Which tables have rows that an empty store has not: tasks, teams, pauses, resources, lanes,
-- schedules.
SELECT EXISTS (SELECT 1 FROM task WHERE id > 0), EXISTS (SELECT 1 FROM team),
       EXISTS (SELECT 1 FROM paused), EXISTS (SELECT 1 FROM resource), EXISTS (SELECT 1 FROM lane),
       EXISTS (SELECT 1 FROM cron)
