-- Parked tasks by their last change, oldest first, after a time and id. Index parked_updated.
SELECT id, updated_us, lane FROM parked
WHERE (updated_us, id) > (?1, ?2)
ORDER BY updated_us ASC, id ASC
LIMIT ?3
