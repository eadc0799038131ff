-- The last bits of the ids that this connection makes.
SELECT nextval('node_slot')
