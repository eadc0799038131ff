-- By primary key.
DELETE FROM held WHERE id = ANY ($1::bigint[])
