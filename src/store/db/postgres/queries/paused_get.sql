-- Whether a type is paused.
SELECT 1 FROM paused WHERE namespace = $1 AND lower(type COLLATE "C") = lower($2::text COLLATE "C")
