-- Deletes the counts of a lane that has no tasks.
DELETE FROM tally WHERE lane = ?1
