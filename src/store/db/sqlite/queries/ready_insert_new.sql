-- Adds a new ready task that is unchanged since its submit, or a run of such tasks (runs.h). All
-- columns but the key, version and flags are null; for a plain task these two are null too.
-- @repeat
INSERT INTO ready (lane, rank, id, version, flags, run) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
