-- Forgets the events of tasks. Begin of the primary key.
DELETE FROM event WHERE task = ANY ($1::bigint[])
