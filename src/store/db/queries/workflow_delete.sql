-- Deletes a definition, of version ?3 (0: any; negative: disabled). Primary key.
-- @changes
DELETE FROM workflow
WHERE namespace = ?1 AND name = ?2
    AND (?3 = 0 OR ?3 = CASE WHEN enabled = 0 THEN -version ELSE version END)
RETURNING version
