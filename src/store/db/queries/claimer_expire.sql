-- Removes workers that have not claimed since ?1, unless they hold a task. Reads all of claimer: a
-- small table; and held, which has only tasks that workers hold.
-- @changes
DELETE FROM claimer
WHERE until_us < ?1 AND NOT EXISTS (SELECT 1 FROM held h WHERE h.worker = claimer.worker)
