-- The greatest id: where new ones go on.
SELECT max(id) FROM task
