-- Signs a worker off; gives its id when it was there. Primary key.
DELETE FROM worker WHERE id = ?1 RETURNING id
