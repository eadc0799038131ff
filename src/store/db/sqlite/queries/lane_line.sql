-- How many tasks of a lane are ready, and how many of them come before a task (its rank, then its
-- id): of the first ?4 rows. Primary key of `ready`.
SELECT coalesce(sum(CASE WHEN json_valid(u.run) THEN json_array_length(u.run) ELSE 1 END), 0),
       coalesce(sum(CASE WHEN u.rank > ?2 OR (u.rank = ?2 AND u.id >= ?3) THEN 0
                         WHEN NOT coalesce(json_valid(u.run), 0) THEN 1
                         WHEN u.rank < ?2 THEN json_array_length(u.run)
                         ELSE (SELECT count(*) FROM json_each(u.run) j
                               WHERE u.id + j.value < ?3) END), 0)
FROM (SELECT r.rank, r.id, r.run FROM ready r WHERE r.lane = ?1 ORDER BY r.rank, r.id LIMIT ?4) u
