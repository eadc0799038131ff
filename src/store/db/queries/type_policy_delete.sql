-- Removes the policies of a type, of version ?3 (0: any). Returns the type if it had any. Primary
-- key.
-- @changes
DELETE FROM type_policy
WHERE namespace = ?1 AND folded = ?2 AND (version = ?3 OR CAST(?3 AS bigint) = 0)
RETURNING type
