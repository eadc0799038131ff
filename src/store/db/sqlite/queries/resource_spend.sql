-- Stores the bucket of a resource from which tokens were taken. Primary key.
UPDATE resource SET rate_spent = ?2, rate_us = ?3 WHERE id = ?1
