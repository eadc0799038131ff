-- The rest of ids, by primary key.
SELECT s.id AS key, s.tail FROM task s WHERE s.id = ANY ($1::bigint[])
