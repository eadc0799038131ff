-- Switches a workflow on or off. Primary key.
UPDATE workflow SET enabled = ?3, updated_us = ?4
WHERE namespace = ?1 AND name = ?2
RETURNING version
