-- Stores how far an operation is. Primary key.
-- @changes
UPDATE operation
SET status = ?2, counted = ?3, position = ?4, matched = ?5, done = ?6, failed = ?7, error = ?8,
    updated_us = ?9, ended_us = ?10
WHERE id = ?1
