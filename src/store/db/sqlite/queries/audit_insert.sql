-- Stores an entry of the audit. Primary key.
-- @repeat
INSERT INTO audit (id, at_us, who, act, target, reason, request_id, previous_hash, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
