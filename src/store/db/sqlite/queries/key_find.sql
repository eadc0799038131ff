-- Who may have a key: nearly always one task or none.
SELECT task FROM task_key WHERE hash = ?1
