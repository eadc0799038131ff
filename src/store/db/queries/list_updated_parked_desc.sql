-- Parked tasks by their last change, newest first, before a time and id. Index parked_updated.
SELECT id, updated_us, lane FROM parked
WHERE (updated_us, id) < (?1, ?2)
ORDER BY updated_us DESC, id DESC
LIMIT ?3
