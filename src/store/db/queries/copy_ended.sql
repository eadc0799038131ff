-- The next tasks that have ended, by primary key.
SELECT id, lane, status, version, fence, attempts, flags, progress, updated_us, claimed_us,
       started_us, completed_us, deleted_us, worker, state, error, metadata, output
FROM ended
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
