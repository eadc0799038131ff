-- Stores a newly held task. Primary key.
-- @repeat
INSERT INTO held (id, tail, lane, rank, status, version, fence, attempts, flags, progress,
                  updated_us, claimed_us, started_us, lease_us, worker, state, error, metadata,
                  deadline_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
        ?19)
