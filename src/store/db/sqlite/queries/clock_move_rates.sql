-- After a step of the clock by ?1 microseconds: keeps the time since a token was taken from each
-- bucket. Reads all of `resource`.
UPDATE resource SET rate_us = rate_us + ?1 WHERE rate_us IS NOT NULL
