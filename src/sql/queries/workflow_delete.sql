-- Forgets a definition, of version ?3 (0: of any). Primary key.
DELETE FROM workflow WHERE namespace = ?1 AND name = ?2 AND (version = ?3 OR ?3 = 0)
RETURNING version
