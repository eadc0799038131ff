-- After a step of the clock back to ?1: rows of the log are forgotten as if they were made now.
-- Reads the log whole.
UPDATE log SET at_us = ?1 WHERE at_us > ?1
