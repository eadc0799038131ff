-- By primary key.
DELETE FROM parked WHERE id = ?1
