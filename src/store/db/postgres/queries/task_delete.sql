-- Removes tasks for good, by primary key.
DELETE FROM task WHERE id = ANY ($1::bigint[])
