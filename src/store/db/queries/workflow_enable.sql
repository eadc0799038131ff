-- Enables or disables a workflow, of version ?5 (0: any; negative: disabled). Primary key.
-- @changes
UPDATE workflow SET enabled = ?3, updated_us = ?4
WHERE namespace = ?1 AND name = ?2
    AND (?5 = 0 OR ?5 = CASE WHEN enabled = 0 THEN -version ELSE version END)
RETURNING version
