-- Updates the statistics of the planner.
ANALYZE lane, task, ready, held, parked, ended, task_key, task_dep, event, hold, tally
