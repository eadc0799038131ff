-- When an item is tried again next. Reads the table whole.
SELECT min(until_us) FROM set_aside WHERE until_us > ?1
