-- Stores a newly parked task. Primary key, and parked_at if it has a time.
-- @repeat
INSERT INTO parked (id, lane, status, at_us, version, fence, attempts, flags, deps_left, deps_bad,
                    progress, updated_us, claimed_us, started_us, state, error, metadata)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
