-- What made a task. Primary key.
SELECT workflow, trigger_name, version, event, depth FROM origin WHERE task = ?1
