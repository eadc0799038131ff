-- The number of entries and the hash of the last one. One row.
SELECT count, hash FROM audit_head
