-- Removes a timer. Primary key.
DELETE FROM timer WHERE at_us = ?1 AND task = ?2 AND kind = ?3
