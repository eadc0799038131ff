-- Delayed tasks, by the time at which they are due, highest first, before a value and id. Index
-- parked_at.
SELECT id, lane, at_us FROM parked
WHERE status = 0 AND at_us IS NOT NULL AND (at_us, id) < (?1, ?2)
ORDER BY at_us DESC, id DESC
LIMIT ?3
