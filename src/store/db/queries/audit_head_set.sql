-- The number of entries and the hash of the last one. One row, whose key is 1.
-- @changes
INSERT INTO audit_head (only_row, count, hash) VALUES (?1, ?2, ?3)
ON CONFLICT (only_row) DO UPDATE SET count = excluded.count, hash = excluded.hash
