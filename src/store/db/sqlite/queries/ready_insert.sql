-- Adds a ready task. The primary key is the order of claiming.
-- @repeat
INSERT INTO ready (lane, rank, id, version, fence, attempts, flags, progress, state, updated_us,
                   claimed_us, started_us, error, metadata, run_at_us, turn)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
