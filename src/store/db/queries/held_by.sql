-- What a worker holds, and in which lane. Reads `held` whole.
SELECT id, tail, fence, lane FROM held WHERE worker = ?1
