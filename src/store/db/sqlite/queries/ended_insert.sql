-- Stores an ended task. Primary key, and ended_badly unless it completed.
-- @repeat
INSERT INTO ended (id, lane, status, version, fence, attempts, flags, progress, updated_us,
                   claimed_us, started_us, completed_us, deleted_us, worker, state, error, metadata,
                   output)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
