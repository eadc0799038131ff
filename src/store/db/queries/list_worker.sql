-- Tasks that a worker holds, newest first, before the id ?1 and from ?2 on. Reads all of `held`.
SELECT id FROM held WHERE id < ?1 AND id >= ?2 AND worker = ?3 ORDER BY id DESC LIMIT ?4
