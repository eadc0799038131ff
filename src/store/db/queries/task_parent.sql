-- The parent of a task, by primary key.
SELECT parent FROM task WHERE id = ?1
