-- Whether a type is paused.
SELECT 1 FROM paused WHERE namespace = ?1 AND type = ?2 COLLATE NOCASE
