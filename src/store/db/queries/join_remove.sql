-- Forgets the joins of a workflow that is removed. Begin of the primary key.
DELETE FROM join_state WHERE namespace = ?1 AND workflow = ?2
