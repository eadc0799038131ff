-- By primary key.
DELETE FROM ended WHERE id = ANY ($1::bigint[])
