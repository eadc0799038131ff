-- Changes a definition of version ?6 (negative: disabled). Returns 2 when it was changed, 1 when it
-- was the same already, and no row when it has another version. Primary key.
-- @changes
UPDATE workflow SET
    version = version + CASE WHEN definition = ?3 THEN 0 ELSE 1 END,
    updated_us = CASE WHEN definition = ?3 AND enabled = ?4 THEN updated_us ELSE ?5 END,
    definition = ?3,
    enabled = ?4
WHERE namespace = ?1 AND name = ?2
    AND ?6 = CASE WHEN enabled = 0 THEN -version ELSE version END
RETURNING CASE WHEN updated_us = ?5 THEN 2 ELSE 1 END
