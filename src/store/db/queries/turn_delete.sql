-- Deletes the turns of a lane that has no tasks.
-- @changes
DELETE FROM group_turn WHERE lane = ?1
