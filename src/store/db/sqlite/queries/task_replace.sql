-- Gives a pending task what a later submit with its key has brought. Primary key.
UPDATE task
SET rank = ?2, run_at_us = ?3, input = ?4, metadata = ?5
WHERE id = ?1
