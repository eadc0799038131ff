-- As ready_scan, with only the columns of plain tasks. `version` is null for these. A row with a
-- version was changed or has more columns, and the lane is then read with ready_scan. Only the days
-- from `since` to `before` are searched for the tasks; for others `tail` is null.
-- @many rows
SELECT p.n, r.id, t.tail, r.rank, t.created_us, t.max_attempts, t.input, t.name, t.key, r.version,
       NULL::bigint
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
     WITH ORDINALITY AS p (lane, rank, id, most, since, before, n)
CROSS JOIN LATERAL (
    SELECT ready.id, ready.rank, ready.version FROM ready
    WHERE ready.lane = p.lane AND (ready.rank, ready.id) > (p.rank, p.id)
    ORDER BY ready.rank, ready.id
    LIMIT p.most
    FOR UPDATE SKIP LOCKED) r
LEFT JOIN LATERAL (SELECT * FROM task
                   WHERE task.id = r.id AND task.id >= p.since AND task.id < p.before OFFSET 0) t
          ON true
ORDER BY p.n, r.rank, r.id
