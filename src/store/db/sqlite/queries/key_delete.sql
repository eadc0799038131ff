-- Releases a key. Primary key.
DELETE FROM task_key WHERE hash = ?1 AND task = ?2
