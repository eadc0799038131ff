-- Stores what was asked for when it is no more than a type, a priority, an input, a key, a name
-- and which token submitted it: most tasks. The columns left out are null. Appends.
INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input, name, key,
                  submitter)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
