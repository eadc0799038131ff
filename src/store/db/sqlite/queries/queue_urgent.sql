-- How many ready tasks of a type have a rank below ?3: up to ?4 rows are read. Index lane_folded,
-- primary key of `ready`.
SELECT coalesce(sum(CASE WHEN json_valid(u.run) THEN json_array_length(u.run) ELSE 1 END), 0)
FROM (SELECT r.run
      FROM lane l INDEXED BY lane_folded
      CROSS JOIN ready r ON r.lane = l.id AND r.rank < ?3
      WHERE l.namespace = ?1 AND l.type = ?2 COLLATE NOCASE
      LIMIT ?4) u
