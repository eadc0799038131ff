-- Entries of the audit after an id, oldest first, also for a copy. Primary key.
SELECT id, at_us, who, act, target, reason, request_id, previous_hash, hash
FROM audit
WHERE id > CAST(?1 AS bigint)
ORDER BY id
LIMIT ?2
