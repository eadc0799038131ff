-- The second halves of ids, by primary key.
-- @many keys
SELECT s.id AS key, s.tail FROM task s WHERE s.id = ANY ($1::bigint[])
