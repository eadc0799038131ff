-- Makes all items be retried at ?1. Reads the whole table.
-- @changes
UPDATE set_aside SET until_us = ?1 WHERE until_us > ?1
