-- Tasks by id, oldest first, after the id ?1, and whether each is ready and unchanged since its
-- submit. Reads ?2 rows of the primary key, and looks each up by the primary keys of the others.
-- Not with EXISTS, which PostgreSQL may answer by reading all of the other table.
SELECT t.id, t.created_us, t.lane,
       CASE WHEN (SELECT 1 FROM ended e WHERE e.id = t.id) IS NULL
             AND (SELECT 1 FROM held h WHERE h.id = t.id) IS NULL
             AND (SELECT 1 FROM parked p WHERE p.id = t.id) IS NULL
             AND (SELECT 1 FROM ready r
                  WHERE r.lane = t.lane AND r.rank = t.rank AND r.id = t.id
                    AND r.updated_us IS NOT NULL) IS NULL THEN 1 ELSE 0 END
FROM task t
WHERE t.id > ?1
ORDER BY t.id ASC
LIMIT ?2
