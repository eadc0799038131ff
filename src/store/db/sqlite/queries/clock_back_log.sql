-- After a step of the clock back to ?1: rows of the log expire as if they were written now. Reads
-- the whole log.
UPDATE log SET at_us = ?1 WHERE at_us > ?1
