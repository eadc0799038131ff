-- By primary key.
DELETE FROM held WHERE id = ?1
