-- The ids of the tasks that a task depends on. Primary key.
SELECT t.id, t.tail FROM task_dep d JOIN task t ON t.id = d.needs WHERE d.task = ?1 ORDER BY d.needs
