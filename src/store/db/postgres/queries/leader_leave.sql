-- Lets another node lead at once.
UPDATE leader SET until_us = 0 WHERE holder = $1::text
