-- Tasks that a worker has claimed and not started. Reads `held` whole.
SELECT id FROM held WHERE worker = ?1 AND status = 1
