-- Changes a definition of version ?6 (negative: disabled). Nothing comes back when it is of another
-- one, or just like this. Primary key.
UPDATE workflow SET version = version + CASE WHEN definition = ?3 THEN 0 ELSE 1 END,
                    definition = ?3, enabled = ?4, updated_us = ?5
WHERE namespace = ?1 AND name = ?2
    AND ?6 = CASE WHEN enabled = 0 THEN -version ELSE version END
    AND (definition <> ?3 OR enabled <> ?4)
RETURNING version
