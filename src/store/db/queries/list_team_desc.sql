-- Tasks of a team, newest first, before the id ?1 and after ?2. Index task_team.
SELECT id, lane FROM task
WHERE team = ?4 AND id < ?1 AND id > ?2
ORDER BY id DESC
LIMIT ?3
