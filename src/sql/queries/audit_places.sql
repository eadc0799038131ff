-- Tasks that don't stand in exactly one of the four tables. Reads everything.
SELECT count(*) FROM (
    SELECT t.id FROM task t LEFT JOIN task_standing s ON s.id = t.id
    GROUP BY t.id HAVING count(s.id) <> 1)
