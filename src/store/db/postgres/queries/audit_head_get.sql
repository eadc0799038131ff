-- The number of entries and the hash of the last one. One row; with locks, until the transaction
-- ends no other node can add an entry.
-- @lock mark
SELECT count, hash FROM audit_head /* lock */
