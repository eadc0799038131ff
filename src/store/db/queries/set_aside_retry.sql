-- Has everything tried again at ?1. Reads the table whole.
UPDATE set_aside SET until_us = ?1 WHERE until_us > ?1
