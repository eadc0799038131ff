-- Delayed tasks, by the time at which they are due, lowest first, after a value and id. Index
-- parked_at.
SELECT id, lane, at_us FROM parked
WHERE status = 0 AND at_us IS NOT NULL AND (at_us, id) > (?1, ?2)
ORDER BY at_us ASC, id ASC
LIMIT ?3
