-- The second half of an id, by primary key.
SELECT tail FROM task WHERE id = ?1
