-- Forgets a definition. Primary key.
DELETE FROM workflow WHERE namespace = ?1 AND name = ?2 RETURNING version
