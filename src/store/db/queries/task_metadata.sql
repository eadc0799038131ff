-- The metadata that a task was submitted with. Primary key.
SELECT metadata FROM task WHERE id = ?1
