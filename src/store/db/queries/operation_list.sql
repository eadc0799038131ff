-- Operations before the id ?1 ('': all), newest first, ?2 at most. Primary key.
SELECT id, kind, status, counted, namespace, request, position, matched, done, failed, created_by,
       error, created_us, updated_us, ended_us
FROM operation
WHERE id < ?1 OR ?1 = ''
ORDER BY id DESC
LIMIT ?2
