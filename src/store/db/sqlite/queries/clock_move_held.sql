-- After a step of the clock by ?1 microseconds every lease has as long left as before. Reads `held`
-- whole.
UPDATE held SET lease_us = lease_us + ?1 WHERE lease_us IS NOT NULL
