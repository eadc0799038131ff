-- The tasks that a worker holds, and their lanes. Reads all of `held`.
SELECT id, tail, fence, lane FROM held WHERE worker = ?1
