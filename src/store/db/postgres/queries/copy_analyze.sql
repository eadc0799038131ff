-- Tells the planner what is in the tables now.
ANALYZE lane, task, ready, held, parked, ended, task_key, task_dep, event, hold, tally
