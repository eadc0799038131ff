-- The origin of a task: the workflow and trigger that created it. Primary key.
SELECT workflow, trigger_name, version, event, depth FROM origin WHERE task = ?1
