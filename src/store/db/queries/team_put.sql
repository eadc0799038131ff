-- Stores a team, new or changed.
-- @changes
INSERT INTO team (id, namespace, name, spec, created_us, updated_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, spec = excluded.spec,
                               updated_us = excluded.updated_us
