-- When the next item is retried. Reads the whole table.
SELECT min(until_us) FROM set_aside WHERE until_us > ?1
