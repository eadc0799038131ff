-- Updates an ended task. Its output is not changed. Primary key.
UPDATE ended
SET version = ?2, flags = ?3, updated_us = ?4, deleted_us = ?5
WHERE id = ?1
