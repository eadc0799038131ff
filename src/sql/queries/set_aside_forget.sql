-- Removes items that were tried again before ?1 and have not failed since. Reads the table whole.
DELETE FROM set_aside WHERE until_us < ?1
