-- By primary key.
DELETE FROM ended WHERE id = ?1
