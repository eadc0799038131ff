-- Indexes for lists by priority and by the time to run at.
--
-- Most tasks have priority 0 and no such time: they are in none of them, and are listed by id.

CREATE INDEX task_rank ON task (rank) WHERE rank <> 0;
CREATE INDEX task_run_at ON task (run_at_us) WHERE run_at_us IS NOT NULL;
CREATE INDEX ready_run_at ON ready (run_at_us, id) WHERE run_at_us IS NOT NULL;
