-- All joins in progress.
SELECT namespace, workflow, name, key, round, members, updated_us, deadline_us, last_outcome,
       last_task, last_error
FROM join_state
