-- Deletes items that were retried before ?1 and have not failed since. Reads the whole table.
-- @changes
DELETE FROM set_aside WHERE until_us < ?1
