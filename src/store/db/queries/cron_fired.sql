-- A schedule's time was served: moves it on, unless somebody has changed it meanwhile; gives its
-- name when it did. Primary key.
UPDATE cron SET next_us = ?5, last_us = ?6, problem = ?7
WHERE namespace = ?1 AND name = ?2 AND version = ?3 AND next_us = ?4
RETURNING name
