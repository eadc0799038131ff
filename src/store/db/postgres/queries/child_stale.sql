-- Ended subtasks that are still counted in their parent's current block. Index task_parent.
SELECT t.id FROM task t JOIN ended e ON e.id = t.id
WHERE t.parent = $1 AND e.flags & 32768 <> 0
