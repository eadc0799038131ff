-- The same for time-outs in the background and backoff before a retry, but not for the time that a
-- task was submitted for. Reads index parked_at.
UPDATE parked
SET at_us = at_us + ?1
WHERE at_us IS NOT NULL
  AND (status = 4 OR (status = 0 AND attempts > 0 AND
                      NOT EXISTS (SELECT 1 FROM task t
                                  WHERE t.id = parked.id AND t.run_at_us = parked.at_us)))
