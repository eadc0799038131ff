-- Whether more than ?2 tasks name a team. Index task_team.
SELECT 1 FROM task WHERE team = ?1 LIMIT 1 OFFSET ?2
