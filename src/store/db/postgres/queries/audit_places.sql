-- Tasks that are not in exactly one of the four status tables, and rows there without a task or
-- with another lane than it. Reads whole tables.
SELECT (SELECT count(*) FROM (
            SELECT t.id FROM task t LEFT JOIN task_standing s ON s.id = t.id
            GROUP BY t.id HAVING count(s.id) <> 1) a)
     + (SELECT count(*) FROM task_standing s
        WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = s.id AND t.lane = s.lane))
