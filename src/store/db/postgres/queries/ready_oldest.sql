-- The oldest ready task of some types. Skips from one rank of a lane to the next in the index of
-- `ready`.
-- @many rows
SELECT p.n, (
    WITH RECURSIVE head AS (
        SELECT f.lane, f.rank, f.id
        FROM lane l
        CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.id FROM ready r
                            WHERE r.lane = l.id
                            ORDER BY r.lane, r.rank, r.id LIMIT 1) f
        WHERE l.namespace = p.namespace AND lower(l.type COLLATE "C") = lower(p.type COLLATE "C")
        UNION ALL
        SELECT f.lane, f.rank, f.id
        FROM head h
        CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.id FROM ready r
                            WHERE r.lane = h.lane AND r.rank > h.rank
                            ORDER BY r.lane, r.rank, r.id LIMIT 1) f
    )
    SELECT min(h.id) FROM head h)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS p (namespace, type, n)
