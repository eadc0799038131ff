-- Tasks that ended with the status ?4, which is not completed, oldest first, after the id ?1 and
-- before ?2. Index ended_badly.
SELECT id, lane FROM ended
WHERE status = ?4 AND status <> 5 AND id > ?1 AND id < ?2
ORDER BY id ASC
LIMIT ?3
