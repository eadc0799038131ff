-- How an ended task stands now. Its output stays as it is. Primary key.
UPDATE ended
SET version = ?2, flags = ?3, updated_us = ?4, deleted_us = ?5
WHERE id = ?1
