-- Advances a schedule after it fired, unless it was changed meanwhile; returns its name if it was
-- not. Primary key.
-- @changes
UPDATE cron SET next_us = ?5, last_us = ?6, problem = ?7
WHERE namespace = ?1 AND name = ?2 AND version = ?3 AND next_us = ?4
RETURNING name
