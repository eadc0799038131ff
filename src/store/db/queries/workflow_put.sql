-- Stores a definition. Returns no row when the same is stored already. Locks the row.
-- @changes
INSERT INTO workflow (namespace, name, version, definition, enabled, updated_us)
VALUES (?1, ?2, 1, ?3, ?4, ?5)
ON CONFLICT (namespace, name) DO UPDATE SET
    version = workflow.version + CASE WHEN workflow.definition = excluded.definition THEN 0
                                      ELSE 1 END,
    definition = excluded.definition,
    enabled = excluded.enabled,
    updated_us = excluded.updated_us
WHERE workflow.definition <> excluded.definition OR workflow.enabled <> excluded.enabled
RETURNING version
