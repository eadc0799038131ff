-- The tasks that hold a resource. Primary key.
SELECT t.id, t.tail FROM hold h JOIN task t ON t.id = h.task WHERE h.resource = ?1
ORDER BY h.task LIMIT ?2
