-- Ends the lease, so that another node can lead at once.
-- @changes
UPDATE leader SET until_us = 0 WHERE holder = $1::text
