-- Resumes a type.
-- @changes
DELETE FROM paused WHERE namespace = $1 AND lower(type COLLATE "C") = lower($2::text COLLATE "C")
