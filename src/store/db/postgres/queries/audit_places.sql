-- Tasks that don't stand in exactly one of the four tables, and rows there that have no task or
-- another lane than it. Reads everything.
SELECT (SELECT count(*) FROM (
            SELECT t.id FROM task t LEFT JOIN task_standing s ON s.id = t.id
            GROUP BY t.id HAVING count(s.id) <> 1) a)
     + (SELECT count(*) FROM task_standing s
        WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = s.id AND t.lane = s.lane))
