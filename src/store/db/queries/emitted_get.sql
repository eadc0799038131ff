-- An emitted event by its id. Unique index.
SELECT type, data, at_us, tasks, failures, seq, id, namespace
FROM happened
WHERE namespace = ?1 AND id = ?2
