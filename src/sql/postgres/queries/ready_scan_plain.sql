-- As ready_scan, with only the columns that plain tasks have. `version` is null for these: a row
-- with a version was touched or has more, and the lane is then read with ready_scan.
SELECT p.n, t.id, t.tail, t.rank, t.created_us, t.max_attempts, t.input, t.name, t.key, r.version
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
     WITH ORDINALITY AS p (lane, rank, id, most, n)
CROSS JOIN LATERAL (
    SELECT ready.id, ready.rank, ready.version FROM ready
    WHERE ready.lane = p.lane AND (ready.rank, ready.id) > (p.rank, p.id)
    ORDER BY ready.rank, ready.id
    LIMIT p.most
    FOR UPDATE SKIP LOCKED) r
JOIN task t ON t.id = r.id
ORDER BY p.n, r.rank, r.id
