-- Lets a type go on.
DELETE FROM paused WHERE namespace = ?1 AND type = ?2
