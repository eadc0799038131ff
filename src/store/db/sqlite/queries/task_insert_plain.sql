-- Stores a submitted task that has no more than a type, a priority, an input, a key, a name and a
-- submitter: most tasks. The other columns are null. Appends.
-- @repeat
INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input, name, key,
                  submitter)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
