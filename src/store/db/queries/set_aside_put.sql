-- Sets an item aside, or sets it aside again. Primary key.
-- @changes
INSERT INTO set_aside (kind, key, name, reason, at_us, until_us, tries)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (kind, key) DO UPDATE
SET name = excluded.name, reason = excluded.reason, at_us = excluded.at_us,
    until_us = excluded.until_us, tries = excluded.tries
