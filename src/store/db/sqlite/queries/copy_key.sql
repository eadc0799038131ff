-- The next keys, by primary key, and the columns that their hashes are made of.
SELECT k.hash, k.task, NULL, t.key, t.input_hash, t.child, t.parent, l.namespace, l.type
FROM task_key k
LEFT JOIN task t ON t.id = k.task
LEFT JOIN lane l ON l.id = t.lane
WHERE (k.hash, k.task) > (?1, ?2)
ORDER BY k.hash, k.task
LIMIT ?3
