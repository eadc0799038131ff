-- Deletes the dependencies of a task, and those on it.
DELETE FROM task_dep WHERE task = ?1 OR needs = ?1
