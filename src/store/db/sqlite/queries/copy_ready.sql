-- The next ready tasks, by primary key, from the run that contains the last one; as in ready_scan.
SELECT r.lane, r.rank, r.id + coalesce(n.value, 0), r.version, r.fence, r.attempts, r.flags,
       r.progress, r.state, r.updated_us, r.claimed_us, r.started_us, r.error, r.metadata,
       r.run_at_us, r.turn
FROM ready r
LEFT JOIN json_each(CASE WHEN json_valid(r.run) THEN r.run END) n
WHERE (r.lane, r.rank, r.id) >= (?1, ?2, coalesce((SELECT max(p.id) FROM ready p
                                                  WHERE p.lane = ?1 AND p.rank = ?2 AND p.id <= ?3),
                                                  ?3))
  AND (+r.lane, r.rank, r.id + coalesce(n.value, 0)) > (?1, ?2, ?3)
ORDER BY r.lane, r.rank, r.id
LIMIT ?4
