-- How many tasks of a lane are ready, and how many of them come before a task (its rank, then its
-- id): of the first $4 rows. Index of `ready`.
SELECT count(*), count(*) FILTER (WHERE (u.rank, u.id) < ($2::bigint, $3::bigint))
FROM (SELECT r.rank, r.id FROM ready r WHERE r.lane = $1
      ORDER BY r.lane, r.rank, r.id LIMIT $4) u
