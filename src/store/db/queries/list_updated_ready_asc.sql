-- Ready tasks that have a time of their last change, by it, oldest first, after a time and
-- id. Index ready_updated.
SELECT id, updated_us, lane FROM ready
WHERE updated_us IS NOT NULL AND (updated_us, id) > (?1, ?2)
ORDER BY updated_us ASC, id ASC
LIMIT ?3
