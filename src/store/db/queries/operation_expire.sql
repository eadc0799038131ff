-- Removes the operations that ended before ?1. Reads the whole table.
-- @changes
DELETE FROM operation WHERE ended_us < ?1
