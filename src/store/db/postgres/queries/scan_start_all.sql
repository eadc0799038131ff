-- The first ready task of each lane and rank, also when it is locked. Skips from one to the next in
-- the primary key of `ready`; the dead rows between them cost time.
WITH RECURSIVE head AS (
    (SELECT lane, rank, id FROM ready ORDER BY lane, rank, id LIMIT 1)
    UNION ALL
    SELECT n.lane, n.rank, n.id
    FROM head h, LATERAL (SELECT r.lane, r.rank, r.id FROM ready r
                          WHERE (r.lane, r.rank) > (h.lane, h.rank)
                          ORDER BY r.lane, r.rank, r.id LIMIT 1) n
)
SELECT lane, rank, id FROM head
