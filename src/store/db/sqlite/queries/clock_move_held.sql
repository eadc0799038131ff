-- After a step of the clock by ?1 microseconds: keeps the remaining time of every lease. Reads all
-- of `held`.
UPDATE held SET lease_us = lease_us + ?1, deadline_us = deadline_us + ?1 WHERE lease_us IS NOT NULL
