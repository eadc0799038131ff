-- Ended tasks with the status ?1, by their last change, newest first, before a time and id. Index
-- ended_updated.
SELECT id, updated_us, lane FROM ended
WHERE status = ?1 AND (updated_us, id) < (?2, ?3)
ORDER BY updated_us DESC, id DESC
LIMIT ?4
