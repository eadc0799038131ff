-- Releases a permit.
DELETE FROM hold WHERE resource = ?1 AND task = ?2
