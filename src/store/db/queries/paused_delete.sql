-- Resumes a type.
-- @changes
DELETE FROM paused WHERE namespace = ?1 AND type = ?2
