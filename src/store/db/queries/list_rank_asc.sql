-- Tasks by rank (minus the priority), without those of rank 0, up to the rank ?4, lowest first,
-- after a value and id. Index task_rank.
SELECT id, lane, rank FROM task
WHERE rank <> 0 AND (rank, id) > (?1, ?2) AND rank < CAST(?4 AS bigint)
ORDER BY rank ASC, id ASC
LIMIT ?3
