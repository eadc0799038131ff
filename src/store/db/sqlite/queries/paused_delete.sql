-- Resumes a type.
DELETE FROM paused WHERE namespace = ?1 AND type = ?2 COLLATE NOCASE
