-- Forgets what a task needs, and who needs it.
DELETE FROM task_dep WHERE task = ?1 OR needs = ?1
