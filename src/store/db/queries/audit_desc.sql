-- Entries of the audit before an id, newest first. Reads the primary key backwards.
SELECT id, at_us, who, act, target, reason, request_id, previous_hash, hash
FROM audit
WHERE id < CAST(?1 AS bigint)
ORDER BY id DESC
LIMIT ?2
