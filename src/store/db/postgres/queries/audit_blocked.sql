-- Blocked tasks whose count of open dependencies is wrong; with flags & 2048 these are their
-- subtasks, but not the detached ones (1 << 60). Tasks with a time have not been counted yet.
SELECT count(*) FROM parked p
WHERE p.status = 3 AND p.at_us IS NULL
  AND p.deps_left <> CASE WHEN p.flags & 2048 <> 0
      THEN (SELECT count(*) FROM task c JOIN task_standing s ON s.id = c.id
            WHERE c.parent = p.id AND s.status < 5 AND coalesce(s.flags, 0) & (1::bigint << 60) = 0)
      ELSE (SELECT count(*) FROM task_dep d JOIN task_standing s ON s.id = d.needs
            WHERE d.task = p.id AND s.status < 5) END
