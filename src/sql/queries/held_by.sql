-- What a worker holds. Reads `held` whole.
SELECT id, tail, fence FROM held WHERE worker = ?1
