-- One operation, by primary key.
-- @lock mark
SELECT id, kind, status, counted, namespace, request, position, matched, done, failed, created_by,
       error, created_us, updated_us, ended_us
FROM operation
WHERE id = $1
/* lock */
