-- The state of a join for a key, created if it is missing. Locks the row.
-- @changes
INSERT INTO join_state (namespace, workflow, name, key, round, members, updated_us)
VALUES (?1, ?2, ?3, ?4, 1, '{}', ?5)
ON CONFLICT (namespace, workflow, name, key) DO UPDATE SET updated_us = excluded.updated_us
RETURNING round, members, deadline_us
