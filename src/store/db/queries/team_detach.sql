-- Takes a removed team out of its tasks, so that a new team with its id doesn't get them. Index
-- task_team; locks these rows.
-- @changes
UPDATE task SET team = NULL WHERE team = ?1
