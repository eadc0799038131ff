-- All subtasks of a task, with what lists are sorted by. Index task_parent.
SELECT t.id, t.lane, t.rank, coalesce(p.at_us, r.run_at_us, t.run_at_us)
FROM task t
LEFT JOIN parked p ON p.id = t.id AND p.status = 0
LEFT JOIN ready r ON r.lane = t.lane AND r.rank = t.rank AND r.id = t.id
WHERE t.parent = ?1
