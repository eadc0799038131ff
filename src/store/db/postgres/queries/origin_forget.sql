-- Deletes the origins of tasks whose days were dropped, up to $1. Primary keys of both tables.
-- @changes
DELETE FROM origin
WHERE task IN (SELECT o.task FROM origin o
               WHERE o.task < (SELECT min(t.id) FROM task t)
               ORDER BY o.task
               LIMIT $1)
