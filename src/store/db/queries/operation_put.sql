-- Stores an operation. Primary key.
-- @repeat
-- @changes
INSERT INTO operation (id, kind, status, counted, namespace, request, position, matched, done,
                       failed, created_by, error, created_us, updated_us, ended_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
