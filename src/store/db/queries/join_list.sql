-- Joins of a workflow ('': of all), for one key or ('') all, after a position. Primary key.
SELECT namespace, workflow, name, key, round, members, updated_us, deadline_us, last_outcome,
       last_task, last_error
FROM join_state
WHERE namespace = ?1 AND (workflow = ?2 OR ?2 = '') AND (key = ?3 OR key = ?4 OR ?3 = '')
    AND (workflow, name, key) > (?6, ?7, ?8)
ORDER BY workflow, name, key
LIMIT ?5
