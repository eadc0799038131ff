-- Keys whose task is gone. Reads every key.
SELECT count(*) FROM task_key k
WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = k.task)
