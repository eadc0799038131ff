-- Tasks of a team, oldest first, after the id ?1 and before ?2. Index task_team.
SELECT id, lane FROM task
WHERE team = ?4 AND id > ?1 AND id < ?2
ORDER BY id ASC
LIMIT ?3
