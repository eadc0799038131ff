-- Expired ended tasks, oldest first, after the id $1. Reads the primary key. A task can't end
-- before it is created, so the scan stops at the id of that time ($2). Completed tasks have expired
-- when they ended before $3, the others before $4. A subtask (flags & 64) stays while its parent is
-- not deleted too.
SELECT e.id FROM ended e
WHERE e.id > $1 AND e.id < $2
  AND e.completed_us < CASE e.status WHEN 5 THEN $3::bigint ELSE $4::bigint END
  AND (e.flags & 64 = 0 OR NOT EXISTS (
      SELECT 1 FROM task t
      JOIN task p ON p.id = t.parent
      LEFT JOIN ended o ON o.id = p.id
      WHERE t.id = e.id
        AND (o.id IS NULL
             OR o.completed_us >= CASE o.status WHEN 5 THEN $3::bigint ELSE $4::bigint END)))
ORDER BY e.id
LIMIT $5
