-- Tasks that a worker has claimed and not started. Reads all of `held`.
SELECT id FROM held WHERE worker = ?1 AND status = 1
