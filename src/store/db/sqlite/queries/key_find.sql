-- The tasks that may have a key: nearly always one or none.
SELECT task FROM task_key WHERE hash = ?1
