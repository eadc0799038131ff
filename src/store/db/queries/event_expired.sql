-- Tasks with events of their own that ended before ?3, oldest first, after the id ?1 and before ?2.
-- Reads the primary key of `event`.
SELECT v.task FROM event v
WHERE v.task > ?1 AND v.task < ?2
  AND EXISTS (SELECT 1 FROM ended e WHERE e.id = v.task AND e.completed_us < ?3)
GROUP BY v.task
ORDER BY v.task
LIMIT ?4
